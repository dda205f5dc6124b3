package check

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/gcexportdata"
)

// What is kept of a package, each under a key of its own.
const (
	aboutTypes    = "types"    // for those who import it: a typesEntry
	aboutFacts    = "facts"    // what analyzers told of its objects: a factsEntry
	aboutFindings = "findings" // what they reported: a findingsEntry
)

// typesEntry is what those need who import a package.
type typesEntry struct {
	Export  []byte // its types, as gcexportdata writes them
	Hidden  []byte // those that no other package can name, where facts may be of their methods
	Telling bool
	Facts   []key // the packages with facts among it and all that it imports
}

// factsEntry is the facts on a package.
type factsEntry struct {
	Facts []factEntry
	At    places
}

type factEntry struct {
	Analyzer, Object string
	Fact             analysis.Fact
}

// findingsEntry is what the analyzers that were asked for gave. Those that gave nothing are not in it.
type findingsEntry struct {
	Actions []actionEntry
	At      places
}

type actionEntry struct {
	Analyzer    string
	Diagnostics []analysis.Diagnostic
	Result      any // nil: the zero value of its type, or what a new pointer of its type points to
}

// keep writes what is known of a unit, unless its files have changed since it got its key.
func (r *run) keep(u *unit) {
	k, ok := r.store.key(u, r.cgo[u.pkg.ID], fileSum)
	if u.keyed = u.keyed && ok && k == u.key && !u.pkg.IllTyped; !u.keyed {
		return
	}
	if facts, ok := r.factsOf(u); !ok {
		u.keyed = false // nor is anything kept that needs them
		return
	} else if len(facts.Facts) > 0 {
		r.store.put(about(u.key, aboutFacts), facts)
		u.facts.SetBit(&u.facts, u.index, 1)
	}
	if u.frontier {
		if e, err := r.typesOf(u); err == nil {
			r.store.put(about(u.key, aboutTypes), e)
		}
	}
	if u.root {
		if e, ok := r.reported(u); ok {
			r.store.put(u.report, e)
		}
	}
}

// typesOf gives what those need who import a unit. What gcexportdata cannot write is not kept.
func (r *run) typesOf(u *unit) (e typesEntry, err error) {
	e.Telling = u.telling
	for i := range u.facts.BitLen() {
		if u.facts.Bit(i) == 1 {
			e.Facts = append(e.Facts, r.order[i].key)
		}
	}
	if e.Export, err = exported(r.fset, u.pkg.Types); err == nil && len(e.Facts) > 0 {
		e.Hidden, err = exported(r.fset, hidden(u.pkg.Types))
	}
	return e, err
}

// hidden gives a package with a variable of each type of p that is not exported. What cannot be reached from
// exported names is not in export data, but a value of such a type may be in an interface that others call.
func hidden(p *types.Package) *types.Package {
	h := types.NewPackage(hiddenPath(p.Path()), "hidden")
	for _, name := range p.Scope().Names() {
		if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok && !t.Exported() && !t.IsAlias() {
			h.Scope().Insert(types.NewVar(token.NoPos, h, "Of_"+name, t.Type()))
		}
	}
	return h
}

// hiddenPath is no import path.
func hiddenPath(path string) string { return path + " hidden" }

// exported gives a package's types as gcexportdata writes them.
func exported(fset *token.FileSet, p *types.Package) (data []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("export data of %s: %v", p.Path(), fault)
		}
	}()
	var out bytes.Buffer
	err = gcexportdata.Write(&out, fset, p)
	return out.Bytes(), err
}

// reported makes an entry of what analyzers gave; not ok when that cannot be kept: one failed, or speaks of
// a file that was made for this run, as cgo does.
func (r *run) reported(u *unit) (e findingsEntry, ok bool) {
	for _, act := range r.asked(u) {
		a := actionEntry{Analyzer: act.Analyzer.Name, Diagnostics: act.Diagnostics}
		if v := reflect.Indirect(reflect.ValueOf(act.Result)); v.IsValid() && !v.IsZero() {
			a.Result = act.Result
		}
		if act.Err != nil {
			return e, false
		}
		if a.Diagnostics != nil || a.Result != nil {
			e.Actions = append(e.Actions, a)
		}
	}
	return e, r.note(&e.At, e.Actions)
}

// restore gives a root the actions of an earlier run, and its package the syntax of the files with findings.
func (r *run) restore(u *unit) bool {
	var e findingsEntry
	if !u.keyed || !r.store.get(u.report, &e) {
		return false
	}
	u.pkg.Fset = r.fset
	at := r.find(e.At)
	kept := map[string]*actionEntry{}
	for i := range e.Actions {
		a := &e.Actions[i]
		kept[a.Analyzer] = a
		at.restore(&a.Diagnostics, u.pkg)
		at.restore(&a.Result, nil)
	}
	for _, a := range r.Analyzers {
		act := &checker.Action{Analyzer: a, Package: u.pkg}
		if k := kept[a.Name]; k != nil {
			act.Diagnostics, act.Result = k.Diagnostics, k.Result
		}
		if act.Result == nil {
			act.Result = nothingOf(a.ResultType)
		}
		u.actions = append(u.actions, act)
	}
	return at.done()
}

// takeBack takes back what was restored of packages that import one which does not compile. That was not seen when
// it was an import only, whose function bodies are not looked at, and is now that it is named.
func (r *run) takeBack() {
	for _, u := range r.order {
		for _, dep := range u.imports {
			if dep.pkg.IllTyped && !u.source {
				u.pkg.IllTyped, u.actions, u.pkg.Syntax = true, nil, nil
			}
		}
	}
}

// nothingOf gives the result of an analyzer that found nothing.
func nothingOf(t reflect.Type) any {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Pointer:
		return reflect.New(t.Elem()).Interface()
	}
	return reflect.Zero(t).Interface()
}
