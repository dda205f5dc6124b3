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
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/big"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

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

	// Never says from the source of a dependency's files that Matters would say no to both: its function bodies are
	// not even parsed. Nil: it is not known of any.
	Never func(path string, texts [][]byte) bool

	// Listed is told what the patterns name and how many packages there are in all, before any is looked at, and
	// again when the run begins anew; its error ends the run. Began and Done are told of each package, from
	// several goroutines, and Done how long it took; of one that nothing is to be done about, only Done, and 0.
	Listed func(roots []*packages.Package, all int) error
	Began  func(*packages.Package)
	Done   func(p *packages.Package, took time.Duration)
	// Ran is told what each analyzer took, on one processor, and gave.
	Ran func(p *packages.Package, took time.Duration, result any)

	// Cache keeps what is learned for later runs. Nil keeps nothing.
	Cache *Cache
}

// matter says why a dependency is looked at.
type matter uint8

const (
	nothing  matter = iota
	mayTell         // it may have facts: it is followed
	mustTell        // what imports it, at any distance, is followed too, whatever facts it has
)

// Run loads what the patterns name and analyses it. What is wrong with a package is in its Errors; the error
// is of the go command, which could not list any, or of a cache that cannot be opened. The packages that are
// returned have no types and no syntax, but for those with diagnostics, which have the syntax of the files that
// the diagnostics are in.
func Run(ctx context.Context, c Config) ([]*packages.Package, *checker.Graph, error) {
	roots, r, err := c.attempt(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if faked := r.faked(); len(faked) > 0 {
		if roots, r, err = c.attempt(ctx, faked); err != nil {
			return nil, nil, err
		}
	}
	graph := &checker.Graph{}
	for _, p := range roots {
		graph.Roots = append(graph.Roots, r.asked(r.units[p])...)
	}
	return roots, graph, nil
}

// attempt is a run in which cgo makes what it makes for packages with some IDs, as it does for those that are analysed.
func (c Config) attempt(ctx context.Context, cgo map[string]bool) ([]*packages.Package, *run, error) {
	l, err := c.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &run{Config: c, ctx: ctx, cgo: cgo, env: l.env, fset: token.NewFileSet(), units: map[*packages.Package]*unit{},
		tables: map[place]*table{}, sources: map[string]bool{}, lines: map[string]*token.File{}}
	r.enter(l.roots)
	if c.Listed != nil {
		if err := c.Listed(l.roots, len(r.order)); err != nil {
			return nil, nil, err
		}
	}
	if r.store, err = c.Cache.forRun(l.env); err != nil {
		return nil, nil, err
	}
	defer r.store.trim()
	r.plan()
	r.work()
	r.takeBack()
	return l.roots, r, ctx.Err()
}

// faked gives the IDs of packages in which what C declares was left unknown, when something that imports one at
// any distance does not compile for a type that is not known: types that C defines may be all that it lacks.
func (r *run) faked() map[string]bool {
	var imported []*packages.Package
	for _, u := range r.order {
		if slices.ContainsFunc(u.pkg.TypeErrors, func(e types.Error) bool { return strings.Contains(e.Msg, "invalid type") }) {
			imported = slices.AppendSeq(imported, maps.Values(u.pkg.Imports))
		}
	}
	found := map[string]bool{}
	packages.Visit(imported, nil, func(p *packages.Package) {
		standard := r.env.within("GOROOT", p.Dir) // which shows nobody its types of C
		if !r.units[p].root && !standard && !r.cgo[p.ID] && importsC(p.GoFiles) {
			found[p.ID] = true
		}
	})
	return found
}

// importsC reports whether one of files uses cgo.
func importsC(files []string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		return err == nil && slices.ContainsFunc(file.Imports, isC)
	})
}

// run is one run under way.
type run struct {
	Config
	ctx   context.Context
	cgo   map[string]bool // by ID: packages that cgo runs for though they are not analysed
	env   goEnv
	fset  *token.FileSet
	units map[*packages.Package]*unit
	order []*unit // leaf first
	facts []*analysis.Analyzer
	all   []*analysis.Analyzer
	store *store
	sums  map[string]string // hashes that keys are made of, by file
	// sources are the Go files of all packages; lines those that are there for positions in what was kept.
	sources map[string]bool
	lines   map[string]*token.File

	mu     sync.Mutex
	tables map[place]*table
}

// unit is a package on its way.
type unit struct {
	pkg     *packages.Package
	root    bool             // named by a pattern: the analyzers run on it
	imports map[string]*unit // by the path that the source has
	users   []*unit
	waits   int  // imports that are not done
	telling bool // it, or something that it imports, must be heard by those who import it
	actions []*checker.Action

	source   bool // it is loaded from its source
	frontier bool // a root imports it
	key      key
	keyed    bool    // there is a key
	report   key     // of what is reported, of a root with a key
	index    int     // in order
	facts    big.Int // a set of indices: the units with facts among it and all that it imports
}

// enter makes a unit of each package, leaf first.
func (r *run) enter(roots []*packages.Package) {
	r.all = Required(r.Analyzers)
	for _, a := range r.all {
		if len(a.FactTypes) > 0 {
			r.facts = append(r.facts, a)
		}
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		u := &unit{pkg: p, imports: map[string]*unit{}, index: len(r.order)}
		r.units[p] = u
		r.order = append(r.order, u)
		for _, file := range p.GoFiles {
			r.sources[file] = true
		}
		for path, dep := range p.Imports {
			d := r.units[dep]
			u.imports[path] = d
			if n := len(d.users); n == 0 || d.users[n-1] != u { // two paths may lead to one package
				d.users = append(d.users, u)
			}
		}
	})
	for _, p := range roots {
		r.units[p].root = true
		for _, dep := range r.units[p].imports {
			dep.frontier = true
		}
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

// work does the units that are loaded from source, as many at a time as there are processors, those with
// nothing to wait for first.
func (r *run) work() {
	ready := make(chan *unit, len(r.order))
	left := 0
	for _, u := range r.order {
		if !u.source {
			r.done(u, 0)
			continue
		}
		left++
		for _, user := range u.users {
			user.waits++
		}
	}
	if left == 0 {
		return
	}
	for _, u := range r.order {
		if u.source && u.waits == 0 {
			ready <- u
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for u := range ready {
				start := time.Now()
				if r.ctx.Err() == nil {
					r.do(u)
				}
				took := time.Since(start)
				mu.Lock()
				for _, user := range u.users {
					if user.waits--; user.source && user.waits == 0 {
						ready <- user
					}
				}
				if left--; left == 0 {
					close(ready)
				}
				mu.Unlock()
				r.done(u, took)
			}
		})
	}
	group.Wait()
}

func (r *run) done(u *unit, took time.Duration) {
	if r.Done != nil {
		r.Done(u.pkg, took)
	}
}

// do type-checks a package, runs what is to be run on it, and keeps what comes of it.
func (r *run) do(u *unit) {
	if r.Began != nil {
		r.Began(u.pkg)
	}
	for _, dep := range u.imports {
		u.telling = u.telling || dep.telling
		u.facts.Or(&u.facts, &dep.facts)
	}
	u.actions = nil // it may have been restored, and be needed from source after all
	matter := r.check(u)
	p := u.pkg
	if matter != nothing && !p.IllTyped {
		analyzers := r.facts
		if u.root {
			analyzers = r.all
		}
		told := r.analyse(u, analyzers)
		u.telling = u.telling || told || matter == mustTell
	}
	if p.TypesInfo != nil && !p.IllTyped {
		r.shed(u)
	}
	if r.store != nil {
		r.keep(u)
	}
	p.TypesInfo = nil
	if len(u.users) == 0 {
		p.Types = nil
	}
	if !slices.ContainsFunc(u.actions, func(a *checker.Action) bool { return len(a.Diagnostics) > 0 }) {
		p.Syntax = nil
	}
}

// shed gives a package that was analysed types without the scopes of its function bodies, which nobody else needs,
// and its facts to those.
func (r *run) shed(u *unit) {
	whole := u.pkg.Types
	if len(u.users) > 0 {
		r.typeCheck(u.pkg, source{files: u.pkg.Syntax}, false)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.facts {
		told := r.tables[place{whole, a}]
		delete(r.tables, place{whole, a})
		if len(u.users) > 0 {
			r.tables[place{u.pkg.Types, a}] = told
		}
	}
}

// asked gives what the analyzers that were asked for did on a package, in their order.
func (r *run) asked(u *unit) []*checker.Action {
	var list []*checker.Action
	for _, a := range r.Analyzers {
		for _, act := range u.actions {
			if act.Analyzer == a {
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
			start := time.Now()
			act.Result, act.Err = r.pass(act, facts, results)
			if r.Ran != nil {
				r.Ran(u.pkg, time.Since(start), act.Result)
			}
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
