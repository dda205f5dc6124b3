package symexec

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

var (
	fset   = token.NewFileSet()
	stdlib = importer.ForCompiler(fset, "gc", nil)
)

const imports = `package p

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
)

var (
	_ context.Context
	_ *sql.DB
	_ driver.Conn
	_ = errors.New
	_ fmt.Stringer
	_ *log.Logger
	_ *os.File
	_ strings.Builder
	_ sync.Once
	_ testing.TB
)

`

// world is one package whose functions are all followed. The World in it, nil, stands for questions
// that no program here leads to.
type world struct {
	World
	pkg  *ssa.Package
	fns  map[string]*ssa.Function
	objs map[string]*types.Func // noted
	sums map[*ssa.Function]*summary.Summary
	busy map[*ssa.Function]bool
}

func build(t *testing.T, body string) *world {
	t.Helper()
	f, err := parser.ParseFile(fset, "p.go", imports+body, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, _, err := ssautil.BuildPackage(&types.Config{Importer: stdlib}, fset, types.NewPackage("example.com/p", "p"), []*ast.File{f}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{pkg: pkg, fns: map[string]*ssa.Function{}, objs: map[string]*types.Func{}}
	w.forget()
	for fn := range ssautil.AllFunctions(pkg.Prog) {
		if fn.Pkg == pkg && fn.Synthetic == "" {
			w.fns[FuncKey(fn)] = fn
		}
	}
	return w
}

// forget makes w follow its functions anew.
func (w *world) forget() {
	w.sums, w.busy = map[*ssa.Function]*summary.Summary{}, map[*ssa.Function]bool{}
}

func (w *world) Summary(fn *ssa.Function) *summary.Summary {
	if s, ok := w.sums[fn]; ok || fn.Pkg != w.pkg || w.busy[fn] || len(fn.Blocks) == 0 {
		return s
	}
	w.busy[fn] = true
	defer delete(w.busy, fn)
	w.sums[fn] = Summarise(Follow(w, fn))
	return w.sums[fn]
}

func (w *world) Closure(key string) *summary.Summary {
	if fn := w.fns[key]; fn != nil {
		return w.Summary(fn)
	}
	return nil
}

func (w *world) Imported(*types.Func) *summary.Summary         { return nil }
func (w *world) Global(string) *term.Term                      { return nil }
func (w *world) Method(string, string) *types.Func             { return nil }
func (w *world) Implementers(types.Type, string) []*types.Func { return nil }
func (w *world) Capped(*ssa.Parameter) bool                    { return false }
func (w *world) Inner(string) (string, string, bool)           { return "", "", false }
func (w *world) Func(fn *types.Func) *ssa.Function             { return w.pkg.Prog.FuncValue(fn) }
func (w *world) Note(fn *types.Func)                           { w.objs[fn.FullName()] = fn }
func (w *world) External(name string) *types.Func              { return w.objs[name] }
func (w *world) Posn(pos token.Pos) string                     { return fmt.Sprint(fset.Position(pos).Line) }

// follow follows function f of a package with the declarations in body.
func follow(t *testing.T, body string) *Run {
	t.Helper()
	w := build(t, body)
	return Follow(w, w.pkg.Func("f"))
}

// tell writes down what a path does: one word for each effect.
func tell(effects []*summary.Effect) string {
	var out []string
	for _, e := range effects {
		out = append(out, word(e))
	}
	return strings.Join(out, " ")
}

func word(e *summary.Effect) string {
	s := ""
	switch e.Op {
	case summary.Send:
		s = "send:" + text(e.Text)
	case summary.Begin:
		s = "begin"
		if e.Snapshot {
			s = "snapshot"
		}
	case summary.End:
		s = map[client.Ending]string{client.Return: "return", client.EndSession: "endsession", client.CommitTx: "commit",
			client.RollbackTx: "rollback", client.Detach: "detach", client.Discard: "discard"}[e.Ending]
	case summary.Escape:
		var alts []string
		for _, a := range e.Alts {
			alts = append(alts, tell(a.Effects))
		}
		s = "escape(" + strings.Join(alts, "|") + ")"
	default:
		s = map[summary.Op]string{summary.Cap: "cap", summary.Take: "take", summary.Done: "done", summary.Invoke: "invoke",
			summary.Give: "give", summary.Exit: "exit"}[e.Op]
	}
	switch e.Cleanup {
	case summary.InDefer:
		s = "defer/" + s
	case summary.InCleanup:
		s = "cleanup/" + s
	case summary.InReturned:
		s = "returned/" + s
	}
	return s
}

// text shows a text, with ? for what is not constant.
func text(t *term.Term) string {
	switch t.Op {
	case term.Const:
		s, _ := t.StrVal()
		return s
	case term.Concat:
		out := ""
		for _, a := range t.Args {
			out += text(a)
		}
		return out
	case term.Phi:
		var out []string
		for _, a := range t.Args {
			out = append(out, text(a))
		}
		return strings.Join(out, "/")
	case term.Stmt:
		out := ""
		for _, s := range t.Args[1:] {
			out += text(s.Args[0])
		}
		return "[" + out + "]"
	}
	return "?"
}

// paths are what the paths of a run do, a line for each, in the run's order.
func paths(run *Run) []string {
	var out []string
	for _, p := range run.Paths {
		s := tell(p.Effects)
		if p.Exits {
			s += " !"
		}
		out = append(out, s)
	}
	return out
}
