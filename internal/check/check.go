// Package check runs analyzers over a program and all that it imports, as the checker of golang.org/x/tools
// does, with a fraction of the work: packages are type-checked leaf first, each is analysed as soon as it
// is, its syntax goes when that is done, and the function bodies of packages that cannot matter are not
// looked at.
package check

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Config says what to run on what.
type Config struct {
	Dir        string   // the working directory of the go command; empty: of this process
	Patterns   []string // as of the go command; none: the package in Dir
	Tests      bool     // test files too
	BuildFlags []string
	Env        []string // nil: that of this process

	// Analyzers run on the packages that the patterns name; what they stand on and has facts, on all others.
	Analyzers []*analysis.Analyzer
	// Matters says from a dependency's syntax whether it is to be followed, and whether it has something that
	// makes all that import it, at any distance, to be followed too, as facts do. Nil: follow everything.
	Matters func(path string, files []*ast.File) (follow, text bool)

	// Listed is told what the patterns name and how many packages there are in all, before any is looked at; its
	// error ends the run. Done is told of each package that is done with, from several goroutines.
	Listed func(roots []*packages.Package, all int) error
	Done   func(*packages.Package)
}

// matter says why a dependency is looked at.
type matter uint8

const (
	nothing  matter = iota
	mayTell         // it may have facts: it is followed
	mustTell        // what imports it, at any distance, is followed too, whatever facts it has
)

// listMode is what the go command can say without compiling anything.
const listMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule | packages.NeedForTest | packages.NeedTypesSizes

// Run loads what the patterns name and analyses it. What is wrong with a package is in its Errors; the error
// is of the go command, which could not list any. The packages that are returned have no syntax, but for those
// with diagnostics.
func Run(ctx context.Context, c Config) ([]*packages.Package, *checker.Graph, error) {
	fset := token.NewFileSet()
	roots, err := packages.Load(&packages.Config{
		Context: ctx, Dir: c.Dir, Mode: listMode, Tests: c.Tests, BuildFlags: c.BuildFlags, Env: c.Env, Fset: fset,
	}, c.Patterns...)
	if err != nil {
		return nil, nil, err
	}
	r := &run{Config: c, ctx: ctx, fset: fset, units: map[*packages.Package]*unit{}, tables: map[place]*table{}}
	roots = slices.DeleteFunc(roots, func(p *packages.Package) bool {
		return strings.HasSuffix(p.ID, ".test") // the main package that go test makes
	})
	r.plan(roots)
	if c.Listed != nil {
		if err := c.Listed(roots, len(r.order)); err != nil {
			return nil, nil, err
		}
	}
	r.work()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return roots, &checker.Graph{Roots: r.actions(roots)}, nil
}

// run is one run under way.
type run struct {
	Config
	ctx   context.Context
	fset  *token.FileSet
	units map[*packages.Package]*unit
	order []*unit // leaf first
	facts []*analysis.Analyzer
	all   []*analysis.Analyzer

	mu     sync.Mutex
	tables map[place]*table
}

// unit is a package on its way.
type unit struct {
	pkg     *packages.Package
	root    bool // named by a pattern: the analyzers run on it
	users   []*unit
	waits   int  // imports that are not done
	telling bool // it, or something that it imports, must be heard by those who import it
	mustUse bool // something that it imports is telling
	actions []*checker.Action
}

// plan makes a unit of each package, leaf first.
func (r *run) plan(roots []*packages.Package) {
	r.all = Required(r.Analyzers)
	for _, a := range r.all {
		if len(a.FactTypes) > 0 {
			r.facts = append(r.facts, a)
		}
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		u := &unit{pkg: p}
		r.units[p] = u
		r.order = append(r.order, u)
		for _, dep := range p.Imports {
			if d := r.units[dep]; d != nil && !slices.Contains(d.users, u) {
				d.users = append(d.users, u)
				u.waits++
			}
		}
	})
	for _, p := range roots {
		r.units[p].root = true
	}
}

// Required gives analyzers and what they stand on, each once and after what it stands on itself.
func Required(list []*analysis.Analyzer) []*analysis.Analyzer {
	var out []*analysis.Analyzer
	seen := map[*analysis.Analyzer]bool{}
	var visit func([]*analysis.Analyzer)
	visit = func(as []*analysis.Analyzer) {
		for _, a := range as {
			if !seen[a] {
				seen[a] = true
				visit(a.Requires)
				out = append(out, a)
			}
		}
	}
	visit(list)
	return out
}

// work does the units, as many at a time as there are processors, those with nothing to wait for first.
func (r *run) work() {
	ready := make(chan *unit, len(r.order))
	left := len(r.order)
	if left == 0 {
		return
	}
	for _, u := range r.order {
		if u.waits == 0 {
			ready <- u
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for u := range ready {
				if r.ctx.Err() == nil {
					r.do(u)
				}
				mu.Lock()
				for _, user := range u.users {
					user.mustUse = user.mustUse || u.telling
					if user.waits--; user.waits == 0 {
						ready <- user
					}
				}
				if left--; left == 0 {
					close(ready)
				}
				mu.Unlock()
				if r.Done != nil {
					r.Done(u.pkg)
				}
			}
		})
	}
	group.Wait()
}

// do type-checks a package and runs what is to be run on it.
func (r *run) do(u *unit) {
	u.telling = u.mustUse
	matter := r.check(u)
	p := u.pkg
	if matter == nothing || p.IllTyped {
		p.Syntax, p.TypesInfo = nil, nil
		return
	}
	analyzers := r.facts
	if u.root {
		analyzers = r.all
	}
	told := r.analyse(u, analyzers)
	u.telling = u.telling || told || matter == mustTell
	if !slices.ContainsFunc(u.actions, func(a *checker.Action) bool { return len(a.Diagnostics) > 0 }) {
		p.Syntax, p.TypesInfo = nil, nil
	}
}

// actions gives what the analyzers did, package by package.
func (r *run) actions(roots []*packages.Package) []*checker.Action {
	var list []*checker.Action
	for _, p := range roots {
		for _, act := range r.units[p].actions {
			if slices.Contains(r.Analyzers, act.Analyzer) {
				act.IsRoot = true
				list = append(list, act)
			}
		}
	}
	return list
}

// analyse runs analyzers on a package, and reports whether any gave facts.
func (r *run) analyse(u *unit, analyzers []*analysis.Analyzer) (told bool) {
	results := map[*analysis.Analyzer]*checker.Action{}
	for _, a := range analyzers {
		act := &checker.Action{Analyzer: a, Package: u.pkg}
		for _, req := range a.Requires {
			dep := results[req]
			act.Deps = append(act.Deps, dep)
			if dep.Err != nil && act.Err == nil {
				act.Err = fmt.Errorf("failed prerequisites: %s", dep.Analyzer.Name)
			}
		}
		results[a] = act
		if act.Err == nil {
			facts := r.table(u.pkg, a)
			act.Result, act.Err = r.pass(act, facts, results)
			told = told || len(facts.list) > 0
		}
		u.actions = append(u.actions, act)
	}
	// What analyzers hand to one another may hold on to all of the package.
	for _, act := range u.actions {
		if !slices.Contains(r.Analyzers, act.Analyzer) {
			act.Result = nil
		}
	}
	return told
}

func (r *run) pass(act *checker.Action, facts *table, results map[*analysis.Analyzer]*checker.Action) (any, error) {
	p, a := act.Package, act.Analyzer
	pass := &analysis.Pass{
		Analyzer: a, Fset: r.fset, Files: p.Syntax, OtherFiles: p.OtherFiles, IgnoredFiles: p.IgnoredFiles,
		Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes, TypeErrors: p.TypeErrors, Module: module(p.Module),
		ResultOf: map[*analysis.Analyzer]any{},
		Report: func(d analysis.Diagnostic) {
			for _, fix := range d.SuggestedFixes {
				slices.SortStableFunc(fix.TextEdits, func(a, b analysis.TextEdit) int { return cmp.Compare(a.Pos, b.Pos) })
			}
			act.Diagnostics = append(act.Diagnostics, d)
		},
		ReadFile: os.ReadFile,
	}
	for _, req := range a.Requires {
		pass.ResultOf[req] = results[req].Result
	}
	r.connect(pass, facts)
	result, err := a.Run(pass)
	if err == nil && reflect.TypeOf(result) != a.ResultType {
		err = fmt.Errorf("internal error: %s gave a %T in package %s, not a %v", a.Name, result, p.PkgPath, a.ResultType)
	}
	for i, d := range act.Diagnostics {
		if d.URL == "" {
			act.Diagnostics[i].URL = a.URL
		}
	}
	return result, err
}

func module(m *packages.Module) *analysis.Module {
	if m == nil {
		return &analysis.Module{}
	}
	out := &analysis.Module{Path: m.Path, Version: m.Version, Replace: nil, Time: m.Time, Main: m.Main, Indirect: m.Indirect,
		Dir: m.Dir, GoMod: m.GoMod, GoVersion: m.GoVersion}
	if m.Replace != nil {
		out.Replace = module(m.Replace)
	}
	return out
}
