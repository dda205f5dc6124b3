package lockflow

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// builder turns findings, which know terms and effects, into events, which know syntax.
type builder struct {
	pass *analysis.Pass
	w    *world
	list []*Event
	of   map[*lockstate.Finding]*Event
	told string // Event.Pooler
}

func newBuilder(pass *analysis.Pass, w *world, inForce *settings.InForce) *builder {
	b := &builder{pass: pass, w: w, of: map[*lockstate.Finding]*Event{}}
	if inForce != nil {
		b.told = inForce.Pooler
	}
	return b
}

func (b *builder) add(found []*lockstate.Finding) {
	for _, f := range found {
		if len(f.Effect.Steps) == 0 || !f.Effect.Steps[0].Pos.IsValid() {
			continue // in a function value whose call is not in view
		}
		if e := b.event(f); e != nil {
			b.list = append(b.list, e)
			b.of[f] = e
		}
	}
	for _, f := range found {
		if e := b.of[f]; e != nil && f.Other != nil {
			e.Other = b.of[f.Other]
		}
	}
}

func (b *builder) events() []*Event {
	// Files may be parsed in any order, so positions in two of them do not compare.
	file := func(e *Event) string { return b.pass.Fset.File(e.Pos).Name() }
	slices.SortStableFunc(b.list, func(x, y *Event) int {
		return cmp.Or(strings.Compare(file(x), file(y)), int(x.Pos)-int(y.Pos))
	})
	return b.list
}

func (b *builder) event(f *lockstate.Finding) *Event {
	step := f.Effect.Steps[0]
	e := &Event{Script: f.Script, Stmt: f.Stmt, Lock: f.Call, Setting: f.Setting, Use: f.Use, Key: f.Key.Show,
		verdicts: Verdict(f.Verdicts), faults: KeyFault(f.Faults()), Getpid: f.Getpid, Pooler: b.told}
	if f.Lease != nil {
		e.Lease = &Lease{Op: LeaseOp(f.Lease.Op), System: f.Lease.System, Command: f.Lease.Command, Library: f.Lease.Library}
	}
	e.Cleanup, e.Answer = Cleanup(f.Cleanup), AnswerUse(f.Answer)
	e.Context = Context{Kind: ContextKind(f.Context.Kind), Why: f.Context.Why, Deadline: f.Context.Deadline}
	e.Handle = Handle{Kind: f.Kind}
	b.locate(e, step.Pos)
	if e.Call == nil {
		return nil
	}
	if len(f.Effect.Steps) == 1 {
		b.syntax(e, f)
	} else {
		e.Handle.Name = ""
	}
	if f.Handle != nil {
		e.Handle.Type = f.Handle.Type
	}
	for _, s := range f.Effect.Steps[1:] {
		e.Trail = append(e.Trail, Step{Pos: b.local(s), Posn: s.Posn, Text: trailText(s, f)})
	}
	e.Inner = inner(e, f.Effect.Inner, f.Name)
	return e
}

// local is a step's position when it lies in this pass's files.
func (b *builder) local(s summary.Step) token.Pos {
	if s.Pos.IsValid() && b.w.Posn(s.Pos) == s.Posn {
		return s.Pos
	}
	return token.NoPos
}

func trailText(s summary.Step, f *lockstate.Finding) string {
	if s == f.Effect.Steps[len(f.Effect.Steps)-1] {
		what := "the statement"
		switch {
		case f.Call != nil:
			what = f.Call.Func.Name
		case f.Lease != nil:
			what = f.Lease.Command
		}
		return what + " is sent here"
	}
	if s.Name == "" {
		return "a function is called here"
	}
	return s.Name + " is called here"
}

// getpidBit follows the key's faults in a judgement.
const getpidBit = 1 << 3

// inner is the event as the called helper judged it.
func inner(e *Event, eff *summary.Effect, name string) *Event {
	if eff == nil {
		return nil
	}
	in := &Event{Inner: inner(e, eff.Inner, name), Pooler: e.Pooler}
	for _, j := range eff.Judged {
		if j.Name != name {
			continue
		}
		in.Lock, in.Stmt, in.Script, in.Setting, in.Use, in.Lease = e.Lock, e.Stmt, e.Script, e.Setting, e.Use, e.Lease
		in.Handle.Kind = client.Kind(j.Kind)
		in.Context.Kind = ContextKind(j.Context)
		in.Answer, in.Cleanup = AnswerUse(j.Answer), Cleanup(j.Cleanup)
		in.verdicts, in.faults, in.Getpid = Verdict(j.Verdicts), KeyFault(j.Faults), j.Faults&getpidBit != 0
	}
	return in
}

// locate finds the call whose left parenthesis is at pos, with its surroundings.
func (b *builder) locate(e *Event, pos token.Pos) {
	for _, f := range b.pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			e.File = f
		}
	}
	if e.File == nil {
		return
	}
	path, _ := astutil.PathEnclosingInterval(e.File, pos, pos)
	for _, n := range path {
		switch n := n.(type) {
		case *ast.CallExpr:
			if n.Lparen == pos && e.Call == nil {
				e.Call, e.Pos = n, n.Pos()
			}
		case *ast.FuncLit, *ast.FuncDecl:
			if e.Func == nil && e.Call != nil {
				e.Func = n
			}
		}
	}
}

// syntax fills in the operands of a call that sends a text itself.
func (b *builder) syntax(e *Event, f *lockstate.Finding) {
	sel, ok := ast.Unparen(e.Call.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	e.Handle.Name = handleName(sel.X)
	obj := b.pass.TypesInfo.Uses[sel.Sel]
	fn, ok := obj.(fnObject)
	if !ok {
		return
	}
	if f.Lease != nil {
		b.leaseSyntax(e, fn, sel)
		return
	}
	m := client.Of(fn)
	if m == nil {
		m = client.Shape(fn.Name(), fn.Signature())
	}
	if m == nil {
		leaseSyntax(e, fn)
		return
	}
	at := func(i int) ast.Expr {
		if i >= 0 && i < len(e.Call.Args) {
			return e.Call.Args[i]
		}
		return nil
	}
	e.Send = SendSyntax{Method: sel.Sel.Name, Handle: sel.X, SQL: at(m.SQL), Ctx: at(m.Ctx)}
	if x := at(m.Handle); x != nil { // of a function, whose sel.X is a package
		e.Send.Handle, e.Handle.Name = x, handleName(x)
	}
	if m.Args >= 0 && m.Args < len(e.Call.Args) {
		e.Send.Args = e.Call.Args[m.Args:]
	}
	if e.Send.Ctx != nil {
		e.Context.Name = exprName(e.Send.Ctx)
	}
}

// leaseSyntax fills in the operands of a call that sends a command.
func (b *builder) leaseSyntax(e *Event, fn fnObject, sel *ast.SelectorExpr) {
	args := e.Call.Args
	e.Send = SendSyntax{Method: sel.Sel.Name, Handle: sel.X, Args: args}
	if params := fn.Signature().Params(); params.Len() > 0 && client.TypeName(params.At(0).Type()) == "context.Context" && len(args) > 0 {
		e.Send.Ctx, e.Send.Args = args[0], args[1:]
		e.Context.Name = exprName(args[0])
	}
	if m := client.CommandOf(fn); m != nil && m.Conn >= 0 && m.Conn < len(e.Send.Args) { // a script's method
		e.Send.Handle = e.Send.Args[m.Conn]
		e.Handle.Name = handleName(e.Send.Handle)
	}
	if fn.Pkg() != nil {
		e.Lease.Library = fn.Pkg().Path()
	}
}

// handleName is the source text of the handle at the bottom of a chain of calls.
func handleName(x ast.Expr) string {
	for {
		switch n := ast.Unparen(x).(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return ""
			}
			x = sel.X
		default:
			return exprName(x)
		}
	}
}

// exprName is the source text of a name or a path of fields, "" for other expressions.
func exprName(x ast.Expr) string {
	switch n := ast.Unparen(x).(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		if base := exprName(n.X); base != "" {
			return base + "." + n.Sel.Name
		}
	case *ast.StarExpr:
		return exprName(n.X)
	}
	return ""
}
