// Package lockflow is the engine's analyzer, the only one with facts: it follows the functions of a
// package that can matter and gives the rules the events that they judge. The stages are packages
// of their own, and data flows one way: gate, SSA, symexec (with summary), lockstate, events.
package lockflow

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"runtime/debug"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/gate"
	"github.com/advisorylint/advisorylint/analyzer/internal/leaseloop"
	"github.com/advisorylint/advisorylint/analyzer/internal/leasestate"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// Analyzer computes a package's lock events. It reports nothing itself.
var Analyzer = &analysis.Analyzer{
	Name:             "lockflow",
	Doc:              "find what a package does with distributed locks, for the rules\n\nIt reports nothing.",
	URL:              "https://github.com/advisorylint/advisorylint/blob/main/docs/design.md",
	Run:              run,
	RunDespiteErrors: false,
	ResultType:       reflect.TypeFor[*Result](),
	FactTypes:        []analysis.Fact{(*FuncFact)(nil), (*VarFact)(nil)},
}

// debugging prints what is normally silent: functions whose analysis failed.
var debugging bool

func init() {
	Analyzer.Flags.BoolVar(&debugging, "debug", false, "print what is known of each lock call, and functions that could not be followed")
}

// FuncFact is what other packages need to know of a function.
type FuncFact struct {
	Summary *summary.Summary
	// Locks: the function sends lock text, so its callers matter whatever else they do.
	Locks bool
	// Closures are the summaries of function literals that the function hands out, by key.
	Closures []NamedSummary
}

// NamedSummary is the summary of a function that is known by its key only.
type NamedSummary struct {
	Key     string
	Summary *summary.Summary
}

func (*FuncFact) AFact() {}

func (f *FuncFact) String() string {
	return fmt.Sprintf("lockflow(%d outcomes)", len(f.Summary.Outcomes))
}

// VarFact is the value of a package variable that is set once.
type VarFact struct{ Value *term.Term }

func (*VarFact) AFact() {}

func (f *VarFact) String() string { return "lockflow(" + f.Value.Key() + ")" }

func run(pass *analysis.Pass) (any, error) {
	inForce, err := settings.Of(pass)
	if err != nil {
		return nil, err
	}
	res := &Result{InForce: inForce}
	known := func(obj types.Object) bool {
		if fn, ok := obj.(*types.Func); ok {
			f := new(FuncFact)
			return pass.ImportObjectFact(fn.Origin(), f) && f.Locks
		}
		v := new(VarFact)
		return pass.ImportObjectFact(obj, v) && holdsText(v.Value)
	}
	reason := gate.Of(pass.Pkg, pass.Files, pass.TypesInfo, known)
	if reason == gate.Closed {
		return res, nil
	}
	if debugging {
		fmt.Fprintf(os.Stderr, "advisorylint: %s: %s\n", pass.Pkg.Path(), reason)
	}
	guard(pass, "package", func() { res.look(pass) })
	if debugging {
		for _, e := range res.Events {
			fmt.Fprintf(os.Stderr, "advisorylint: %s: %s\n", pass.Fset.Position(e.Pos), e.describe())
		}
	}
	return res, nil
}

// look follows the package's functions and judges what they do.
func (res *Result) look(pass *analysis.Pass) {
	w := newWorld(pass)
	res.functions = len(w.fns)
	var found []*lockstate.Finding
	var places []*lockstate.Places
	var followed []*leasestate.Function
	for _, fn := range w.roots() {
		whole := guard(pass, fn.String(), func() {
			run := w.follow(fn)
			if run == nil {
				return
			}
			f, p := lockstate.Judge(&provenance.Reader{Fields: w.fields()}, run, lockstate.Options{Pooler: w.pooler, Bounded: w.bounded})
			found, places = append(found, f...), append(places, p)
			w.Summary(fn)
			followed = append(followed, function(fn, run))
			if run.Truncated {
				res.unfollowed(fn, "has more paths than are followed")
			}
		})
		if !whole {
			res.unfollowed(fn, "met an internal error; -debug shows it")
		}
	}
	loops := func(leases []*lockstate.Finding) (own []*lockstate.Finding) {
		guard(pass, "loops", func() { own = leaseloop.New(w.fns, w.Posn).Judge(leases) })
		return own
	}
	guard(pass, "leases", func() {
		found = append(found, leasestate.Judge(&provenance.Reader{Fields: w.fields()}, followed, loops)...)
	})
	// Only now does every helper's effect carry what the helper itself found out.
	lockstate.Pair(found, append(places, w.otherPlaces()))
	w.judgeLiterals(found)
	b := newBuilder(pass, w, res.InForce)
	b.add(found)
	guard(pass, "facts", func() { w.export() })
	res.Events = b.events()
}

func (res *Result) unfollowed(fn *ssa.Function, why string) {
	if fn.Pos().IsValid() {
		res.Unfollowed = append(res.Unfollowed, Unfollowed{fn.Pos(), fn.Name(), why})
	}
}

// judgeLiterals leaves on the effects of function literals what was found where they are written: whoever
// calls one that was handed out, in this package or another, is not to be told again.
func (w *world) judgeLiterals(found []*lockstate.Finding) {
	at := map[token.Pos][]summary.Judgement{}
	for _, f := range found {
		if f.Lease != nil && len(f.Effect.Steps) > 0 && len(f.Effect.Judged) > 0 {
			at[f.Effect.Steps[0].Pos] = append(at[f.Effect.Steps[0].Pos], f.Effect.Judged...)
		}
	}
	for _, fn := range w.fns {
		s := w.summaries[fn]
		if fn.Parent() == nil || s == nil {
			continue
		}
		for _, o := range s.Outcomes {
			for _, e := range o.Effects {
				if e.Cmd != nil && len(e.Judged) == 0 && len(e.Steps) > 0 {
					e.Judged = at[e.Steps[0].Pos]
				}
			}
		}
	}
}

// function is a followed function as leasestate wants it.
func function(fn *ssa.Function, run *symexec.Run) *leasestate.Function {
	f := &leasestate.Function{Name: fn.Name(), Pkg: fn.Pkg.Pkg.Path(), Exported: token.IsExported(fn.Name()), Run: run, Guarded: guarded(fn)}
	if recv := fn.Signature.Recv(); recv != nil {
		f.Recv = client.TypeName(recv.Type())
	}
	return f
}

// guard keeps a fault in one function from ending the analysis of the others, and reports whether there was none.
func guard(pass *analysis.Pass, what string, f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil && debugging {
			fmt.Fprintf(os.Stderr, "advisorylint: %s: %s: %v\n%s", pass.Pkg.Path(), what, r, debug.Stack())
		}
	}()
	f()
	return true
}
