// Package stagetest gives the benchmarks of the engine's stages real programs to work on: fixtures, which use
// the real client libraries, and the source of such a library.
package stagetest

import (
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Package is a package with its SSA form.
type Package struct {
	*packages.Package
	SSA *ssa.Package
	Fns []*ssa.Function // as symexec.Functions gives them
}

// Fixtures take locks in PostgreSQL, in MySQL and in Redis, on every path that a rule knows of.
func Fixtures(tb testing.TB) []*Package { return given(tb, fixtures) }

// Library is the part of pgx that opens connections and sends text for others.
func Library(tb testing.TB) []*Package { return given(tb, library) }

var (
	fixtures = sync.OnceValues(func() ([]*Package, error) {
		return load("./acquireresult", "./jobrunner/joblock", "./jobrunner", "./lockleak", "./lockmismatch", "./locktoken", "./nottl",
			"./poollock", "./poolstarve", "./renewloop", "./renewrace", "./retrystorm", "./scripttext", "./unlockctx")
	})
	library = sync.OnceValues(func() ([]*Package, error) {
		const pgx = "github.com/jackc/pgx/v5"
		return load(pgx, pgx+"/pgxpool", pgx+"/stdlib")
	})
)

func given(tb testing.TB, list func() ([]*Package, error)) []*Package {
	tb.Helper()
	pkgs, err := list()
	if err != nil {
		tb.Fatal(err)
	}
	return pkgs
}

// load loads packages as the fixtures' module sees them, from the folder of a stage.
func load(patterns ...string) ([]*Package, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: "../../../testdata/src"}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range pkgs {
		for _, err := range p.Errors {
			return nil, err
		}
	}
	prog, built := ssautil.Packages(pkgs, 0)
	prog.Build()
	var out []*Package
	for i, p := range pkgs {
		out = append(out, &Package{p, built[i], symexec.Functions(built[i], p.Syntax, p.TypesInfo)})
	}
	return out, nil
}

// Runs follows all functions of packages, and gives what became of those with paths, by package.
func Runs(pkgs []*Package) map[*Package][]*symexec.Run {
	out := map[*Package][]*symexec.Run{}
	for _, p := range pkgs {
		w := p.World()
		for _, fn := range p.Fns {
			if run := symexec.Follow(w, fn); len(run.Paths) > 0 {
				out[p] = append(out[p], run)
			}
		}
	}
	return out
}

// World is a package by itself: of what it imports it knows what the engine knows without facts.
type World struct {
	p    *Package
	fns  map[string]*ssa.Function
	objs map[string]*types.Func
	sums map[*ssa.Function]*summary.Summary
	busy map[*ssa.Function]bool
}

// World is that of p, with no function followed yet.
func (p *Package) World() *World {
	w := &World{p: p, fns: map[string]*ssa.Function{}, objs: map[string]*types.Func{}, sums: map[*ssa.Function]*summary.Summary{},
		busy: map[*ssa.Function]bool{}}
	for _, fn := range p.Fns {
		w.fns[symexec.FuncKey(fn)] = fn
	}
	return w
}

// Summary follows a function of the package when it is asked for the first time.
func (w *World) Summary(fn *ssa.Function) *summary.Summary {
	if s, ok := w.sums[fn]; ok || fn.Pkg != w.p.SSA || w.busy[fn] || len(fn.Blocks) == 0 {
		return s
	}
	w.busy[fn] = true
	defer delete(w.busy, fn)
	w.sums[fn] = symexec.Summarise(symexec.Follow(w, fn))
	return w.sums[fn]
}

// Closure is the summary of a function of the package, by its key.
func (w *World) Closure(key string) *summary.Summary {
	if fn := w.fns[key]; fn != nil {
		return w.Summary(fn)
	}
	return nil
}

// Func is the SSA form of a function of the package.
func (w *World) Func(fn *types.Func) *ssa.Function {
	if fn.Pkg() != w.p.Types {
		return nil
	}
	return w.p.SSA.Prog.FuncValue(fn.Origin())
}

// Posn is a position as a fact has it.
func (w *World) Posn(pos token.Pos) string {
	at := w.p.Fset.Position(pos)
	return filepath.Base(at.Filename) + ":" + strconv.Itoa(at.Line)
}

// Note and External remember functions of other packages.
func (w *World) Note(fn *types.Func)              { w.objs[fn.FullName()] = fn }
func (w *World) External(name string) *types.Func { return w.objs[name] }

// Nothing is known of other packages, of variables and of interfaces.
func (w *World) Imported(*types.Func) *summary.Summary         { return nil }
func (w *World) Global(string) *term.Term                      { return nil }
func (w *World) Method(string, string) *types.Func             { return nil }
func (w *World) Implementers(types.Type, string) []*types.Func { return nil }
func (w *World) Implemented(types.Type) bool                   { return false }
func (w *World) Capped(*ssa.Parameter) bool                    { return false }
func (w *World) Inner(string) (string, string, bool)           { return "", "", false }

// Reader reads the package's terms with what it stores.
func (p *Package) Reader() *provenance.Reader {
	return &provenance.Reader{Fields: fields{stores.New(p.Types, p.Fns)}}
}

// fields are a package's stores; it embeds no files.
type fields struct{ *stores.Index }

func (fields) Part(*term.Term, string) *term.Term { return nil }
func (fields) Embedded(string) (string, bool)     { return "", false }
