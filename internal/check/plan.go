package check

import (
	"bytes"
	"encoding/gob"
	"go/types"
	"maps"
	"reflect"
	"slices"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// plan decides what is done with each unit. A root that was reported on before is restored. One that was not
// is loaded from source, and what it imports from the cache, or from source where that has nothing. Without a
// cache all is loaded from source.
func (r *run) plan() {
	for _, u := range r.order {
		u.source = r.store == nil
	}
	if r.store == nil {
		return
	}
	for _, a := range r.all {
		for _, f := range a.FactTypes {
			gob.Register(f)
		}
	}
	for _, a := range r.Analyzers {
		if a.ResultType != nil {
			gob.Register(reflect.Zero(a.ResultType).Interface())
		}
	}
	p := &planner{run: r, byKey: map[key]*unit{}, kept: map[*unit]*typesEntry{}, facts: map[key]factsEntry{}}
	r.sums = map[string]string{}
	sum := func(name string) (text string, err error) {
		if r.sums[name] == "" { // a package and its variants have files in common
			r.sums[name], err = fileSum(name)
		}
		return r.sums[name], err
	}
	for _, u := range r.order {
		if u.key, u.keyed = r.store.key(u, r.cgo[u.pkg.ID], sum); u.keyed {
			p.byKey[u.key] = u
			if u.root {
				u.report = about(u.key, aboutFindings, r.store.findings(u.pkg))
			}
		}
		u.source = u.root && !r.restore(u)
	}
	for !p.load(p.needed()) {
	}
}

// planner decides which units are loaded from the cache.
type planner struct {
	*run
	byKey map[key]*unit
	kept  map[*unit]*typesEntry // what the cache has of units; nil: nothing that is of use
	facts map[key]factsEntry
}

// needed gives the units to load from the cache, leaf first, and marks those to load from source. What
// imports, at any distance, something that is loaded from source, cannot come from the cache: it would have
// types of its own in the place of those.
func (p *planner) needed() (list []*unit) {
	cached := map[*unit]bool{}
	for again := true; again; {
		again = false
		above := map[*unit]bool{}
		for _, u := range p.order {
			for _, dep := range u.imports {
				above[u] = above[u] || dep.source || above[dep]
			}
		}
		for _, u := range slices.Backward(p.order) {
			wanted := slices.ContainsFunc(u.users, func(user *unit) bool { return user.source })
			if u.source || !wanted {
				continue
			}
			if cached[u] = !above[u] && p.entry(u) != nil; !cached[u] {
				u.source, again = true, true
			}
		}
	}
	for _, u := range p.order {
		if cached[u] {
			list = append(list, u)
		}
	}
	return list
}

// entry gives what the cache has of a unit, with all facts that belong to it; nil when there is something
// missing.
func (p *planner) entry(u *unit) *typesEntry {
	e, ok := p.kept[u]
	if ok {
		return e
	}
	if u.pkg.PkgPath == "unsafe" {
		e = &typesEntry{}
	} else if e = new(typesEntry); !u.keyed || !p.store.get(about(u.key, aboutTypes), e) || !p.haveFacts(e.Facts) {
		e = nil
	}
	p.kept[u] = e
	return e
}

func (p *planner) haveFacts(keys []key) bool {
	for _, k := range keys {
		if _, ok := p.facts[k]; ok {
			continue
		}
		var facts factsEntry
		if p.byKey[k] == nil || !p.store.get(about(k, aboutFacts), &facts) {
			return false
		}
		at := p.find(facts.At)
		if at.restore(facts.Facts, nil); !at.done() {
			return false
		}
		p.facts[k] = facts
	}
	return true
}

// load reads the types and facts of units; false when one turns out to be of no use.
func (p *planner) load(units []*unit) bool {
	for _, u := range units {
		p.make(u)
	}
	for _, u := range units {
		e := p.kept[u]
		if u.pkg.PkgPath == "unsafe" {
			continue
		}
		if err := p.read(u, e); err != nil {
			p.kept[u] = nil
			for _, u := range p.order {
				u.pkg.Types = nil
			}
			return false
		}
	}
	p.setImports()
	for _, u := range units {
		u.telling = p.kept[u].Telling
		for _, k := range p.kept[u].Facts {
			u.facts.SetBit(&u.facts, p.byKey[k].index, 1)
		}
	}
	for k, facts := range p.facts {
		if u := p.byKey[k]; u.pkg.Types != nil && !u.source {
			p.takeFacts(u, facts)
		}
	}
	return true
}

// make makes the types.Package of a unit and of all that it imports, which its types may speak of.
func (p *planner) make(u *unit) {
	packages.Visit([]*packages.Package{u.pkg}, func(pkg *packages.Package) bool {
		switch {
		case pkg.Types != nil:
			return false
		case pkg.PkgPath == "unsafe":
			pkg.Types = types.Unsafe
		default:
			pkg.Types = types.NewPackage(pkg.PkgPath, pkg.Name)
		}
		return true
	}, nil)
}

// read reads the types of a unit.
func (p *planner) read(u *unit, e *typesEntry) error {
	universe := p.universe(u)
	_, err := gcexportdata.Read(bytes.NewReader(e.Export), p.fset, universe, u.pkg.PkgPath)
	if err == nil && len(e.Hidden) > 0 {
		_, err = gcexportdata.Read(bytes.NewReader(e.Hidden), p.fset, universe, hiddenPath(u.pkg.PkgPath))
	}
	return err
}

// setImports gives packages their imports, as they have them when loaded from source. Reading one gives it those
// that its types speak of.
func (p *planner) setImports() {
	for _, u := range p.order {
		if u.pkg.Types == nil || u.pkg.PkgPath == "unsafe" {
			continue
		}
		var list []*types.Package
		for _, path := range slices.Sorted(maps.Keys(u.imports)) {
			list = append(list, u.imports[path].pkg.Types)
		}
		u.pkg.Types.SetImports(list)
	}
}

// universe gives the packages that a unit's types may speak of, by path.
func (p *planner) universe(u *unit) map[string]*types.Package {
	all := map[string]*types.Package{}
	packages.Visit([]*packages.Package{u.pkg}, nil, func(pkg *packages.Package) { all[pkg.PkgPath] = pkg.Types })
	return all
}
