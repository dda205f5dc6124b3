package leaseloop

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// prelude has, in the name of go-redis, a client whose SetNX is the acquire and whose Extend is the renewal of every program here.
const prelude = `package p

import (
	"context"
	"errors"
	"log"
	"math/rand"
	"runtime"
	"sync"
	"time"
)

var (
	_ context.Context
	_ = errors.New
	_ = log.Print
	_ = rand.Int
	_ = runtime.Gosched
	_ sync.Mutex
	_ time.Duration
)

type boolCmd interface {
	Result() (bool, error)
	Val() bool
	Err() error
}

type client interface {
	SetNX(key, token string, ttl time.Duration) boolCmd
	Extend(key string, ttl time.Duration) boolCmd
	Unknown()
}

const ttl = 30 * time.Second

`

var (
	fset   = token.NewFileSet()
	stdlib = importer.ForCompiler(fset, "gc", nil)
)

// verdicts are the words with which the programs here mark the lines that are to be found.
var verdicts = map[lockstate.Verdict]string{
	lockstate.Spins: "spins", lockstate.InStep: "in step", lockstate.NeverStopped: "never stopped", lockstate.TooSlow: "too slow",
}

type program struct {
	file  *ast.File
	fns   []*ssa.Function
	found []*lockstate.Finding
}

func build(t *testing.T, body string) *program {
	t.Helper()
	f, err := parser.ParseFile(fset, "p.go", prelude+body, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg, info, err := ssautil.BuildPackage(&types.Config{Importer: stdlib}, fset, types.NewPackage("github.com/redis/go-redis/v9", "p"), []*ast.File{f}, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{file: f, fns: symexec.Functions(pkg, []*ast.File{f}, info)}
	for _, fn := range p.fns {
		p.find(fn)
	}
	return p
}

func posn(pos token.Pos) string { return fmt.Sprint(fset.Position(pos).Line) }

// find makes the findings that leasestate would make of a function's own commands, and of those of its
// callers.
func (p *program) find(fn *ssa.Function) {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(*ssa.Call)
			if !ok || !c.Call.IsInvoke() {
				continue
			}
			args := c.Call.Args
			var op lockstate.LeaseOp
			switch c.Call.Method.Name() {
			case "SetNX":
				op = lockstate.LeaseAcquire
			case "Extend":
				op = lockstate.LeaseRenew
			default:
				continue
			}
			cmd := &summary.Cmd{Op: client.SetNXCommand, Keys: []*term.Term{toTerm(args[0])}, TTL: toTerm(args[len(args)-1])}
			p.effect(fn, c.Call.Pos(), op, &summary.Effect{Op: summary.Command, Cmd: cmd}, 0)
		}
	}
}

func (p *program) effect(fn *ssa.Function, pos token.Pos, op lockstate.LeaseOp, e *summary.Effect, depth int) {
	e.Steps = append([]summary.Step{{Pos: pos, Posn: posn(pos)}}, e.Steps...)
	p.found = append(p.found, &lockstate.Finding{Effect: e, Lease: &lockstate.Lease{Op: op, System: "Redis", Command: "SET"}})
	if depth == 3 {
		return
	}
	for _, caller := range p.fns {
		for _, b := range caller.Blocks {
			for _, in := range b.Instrs {
				if c, ok := in.(ssa.CallInstruction); ok && c.Common().StaticCallee() == fn {
					p.effect(caller, c.Common().Pos(), op, &summary.Effect{Op: summary.Command, Cmd: &summary.Cmd{}, Inner: e, Steps: e.Steps}, depth+1)
				}
			}
		}
	}
}

// toTerm is a constant, a parameter or a field as a term; nothing for other values.
func toTerm(v ssa.Value) *term.Term {
	switch v := v.(type) {
	case *ssa.Const:
		if strings.HasPrefix(v.Value.ExactString(), `"`) {
			s, _ := strconv.Unquote(v.Value.ExactString())
			return term.Str(s)
		}
		return term.Int(v.Value.ExactString())
	case *ssa.Parameter:
		for i, q := range v.Parent().Params {
			if q == v {
				return term.New(term.Param, strconv.Itoa(i), "", "")
			}
		}
	case *ssa.UnOp:
		if f, ok := v.X.(*ssa.FieldAddr); ok {
			st := f.X.Type().Underlying().(*types.Pointer).Elem()
			ptr := term.New(term.FieldPtr, st.Underlying().(*types.Struct).Field(f.Field).Name(), "", client.TypeName(st), term.New(term.Param, "0", "", ""))
			return term.New(term.Load, "", "", "", ptr)
		}
	}
	return term.Unknown("test", "")
}

// marks are the lines that a program's comments name.
func (p *program) marks() map[string]bool {
	out := map[string]bool{}
	for _, g := range p.file.Comments {
		for _, c := range g.List {
			out[posn(c.Pos())+" "+strings.TrimPrefix(c.Text, "// ")] = true
		}
	}
	return out
}

// said are the lines of which something is said.
func (p *program) said() map[string]bool {
	all := append(p.found, New(p.fns, posn).Judge(p.found)...)
	out := map[string]bool{}
	for _, f := range all {
		for v, word := range verdicts {
			if f.Verdicts&v != 0 {
				out[f.Effect.Steps[0].Posn+" "+word] = true
			}
		}
	}
	return out
}

func check(t *testing.T, cases map[string]string) {
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			p := build(t, body)
			if want, got := p.marks(), p.said(); !maps.Equal(want, got) {
				t.Errorf("said %v, want %v in\n%s", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), body)
			}
		})
	}
}
