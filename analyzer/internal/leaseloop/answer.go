package leaseloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
)

// value is what is known of a Go value: nothing yet, its type's zero value, another one, or that it may be
// either. Of an answer, another one is the 1 or "OK" that grants.
type value uint8

const (
	none value = iota
	zero
	other
	either
)

func (v value) join(w value) value {
	switch {
	case v == none:
		return w
	case w == none || v == w:
		return v
	}
	return either
}

func (v value) not() value {
	switch v {
	case zero:
		return other
	case other:
		return zero
	}
	return v
}

func is(b bool) value {
	if b {
		return other
	}
	return zero
}

// assumption is that an acquire is refused, or granted; and which edges of its function are taken then,
// from the acquire on.
type assumption struct {
	p       *Program
	call    *ssa.Call
	eff     *summary.Effect // the acquire as call's function has it
	granted bool
	depth   int
	live    map[edge]bool
	reached map[*ssa.BasicBlock]bool
	busy    map[ssa.Value]bool
	results []value // of the helper that call calls
	// never: the helper does not return then; it goes on until it is granted.
	never bool
	// decides: a branch depends on the answer. open: on one, and it is not known how.
	decides, open bool
}

type edge struct{ from, to *ssa.BasicBlock }

// assume finds the edges that are taken after call when its acquire is granted or refused.
func (p *Program) assume(call *ssa.Call, eff *summary.Effect, granted bool, depth int) *assumption {
	a := &assumption{p: p, call: call, eff: eff, granted: granted, depth: depth, live: map[edge]bool{},
		reached: map[*ssa.BasicBlock]bool{call.Block(): true}, busy: map[ssa.Value]bool{}}
	a.results = a.helper()
	for changed := true; changed; {
		changed = false
		for _, b := range call.Parent().Blocks {
			if !a.reached[b] {
				continue
			}
			for _, s := range a.succs(b) {
				if e := (edge{b, s}); !a.live[e] {
					a.live[e], a.reached[s], changed = true, true, true
				}
			}
		}
	}
	for b := range a.reached {
		if c, ok := branch(b); ok && a.depends(c.Cond, 0) {
			a.decides = true
			a.open = a.open || a.eval(c.Cond) == either
		}
	}
	return a
}

func branch(b *ssa.BasicBlock) (*ssa.If, bool) {
	if len(b.Instrs) == 0 {
		return nil, false
	}
	c, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	return c, ok
}

func (a *assumption) succs(b *ssa.BasicBlock) []*ssa.BasicBlock {
	if c, ok := branch(b); ok {
		switch a.eval(c.Cond) {
		case zero:
			return b.Succs[1:]
		case other:
			return b.Succs[:1]
		}
	}
	return b.Succs
}

// helper gives what the function that call calls returns then; nil when it is not in view.
func (a *assumption) helper() []value {
	inner := a.p.inner(a.call, a.eff)
	if inner == nil || a.depth > maxDepth {
		return nil
	}
	in := a.p.assume(inner, a.eff.Inner, a.granted, a.depth+1)
	out := make([]value, inner.Parent().Signature.Results().Len())
	a.never = true
	for b := range in.reached {
		if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			a.never = in.never
			for i, v := range r.Results {
				out[i] = out[i].join(in.eval(v))
			}
		}
	}
	return out
}

// callee is the function of the package that a call calls, nil when it is another or not known.
func (p *Program) callee(c *ssa.CallCommon) *ssa.Function {
	if fn := c.StaticCallee(); fn != nil && p.own[fn] && len(fn.Blocks) > 0 {
		return fn
	}
	return nil
}

// inner is the call by which the function that call calls acquires; nil when that is not in view.
func (p *Program) inner(call *ssa.Call, eff *summary.Effect) *ssa.Call {
	fn := p.callee(&call.Call)
	if fn == nil || eff.Inner == nil || len(eff.Inner.Steps) == 0 {
		return nil
	}
	if c, ok := p.calls[eff.Inner.Steps[0].Pos].(*ssa.Call); ok && c.Parent() == fn {
		return c
	}
	return nil
}

// eval says what v is on the edges that are live so far.
func (a *assumption) eval(v ssa.Value) value {
	if a.busy[v] {
		return none
	}
	a.busy[v] = true
	defer delete(a.busy, v)
	switch v := v.(type) {
	case *ssa.Const:
		return is(v.Value != nil && !zeroConst(v.Value))
	case *ssa.Extract:
		if c, ok := v.Tuple.(*ssa.Call); ok {
			return a.result(c, v.Index)
		}
	case *ssa.Call:
		return a.result(v, 0)
	case *ssa.UnOp:
		switch v.Op {
		case token.NOT:
			return a.eval(v.X).not()
		case token.MUL:
			return a.load(v)
		}
	case *ssa.BinOp:
		return a.compare(v)
	case *ssa.Phi:
		return a.phi(v)
	case *ssa.Convert:
		return a.eval(v.X)
	case *ssa.ChangeType:
		return a.eval(v.X)
	case *ssa.ChangeInterface:
		return a.eval(v.X)
	case *ssa.MakeInterface, *ssa.MakeClosure, *ssa.Alloc, *ssa.Function:
		return other
	}
	return either
}

func zeroConst(c constant.Value) bool {
	switch c.Kind() {
	case constant.Bool:
		return !constant.BoolVal(c)
	case constant.String:
		return constant.StringVal(c) == ""
	}
	return constant.Sign(c) == 0
}

func (a *assumption) phi(v *ssa.Phi) value {
	out := none
	known := false
	for i, in := range v.Edges {
		if a.live[edge{v.Block().Preds[i], v.Block()}] {
			known = true
			out = out.join(a.eval(in))
		}
	}
	if !known {
		return either // from before the acquire
	}
	return out
}

// load is what a local variable that a closure shares may hold, or a package's variable for an error.
func (a *assumption) load(v *ssa.UnOp) value {
	switch x := v.X.(type) {
	case *ssa.Global:
		if types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
			return other
		}
	case *ssa.Alloc:
		out := none
		for _, r := range *x.Referrers() {
			switch r := r.(type) {
			case *ssa.Store:
				if r.Addr == x && a.reached[r.Block()] {
					out = out.join(a.eval(r.Val))
				}
			case *ssa.UnOp, *ssa.DebugRef:
			case *ssa.MakeClosure:
				if writes(r, x) {
					return either
				}
			default:
				return either
			}
		}
		if out != none {
			return out
		}
	}
	return either
}

// writes reports whether a closure may store into the variable x that it captures.
func writes(mc *ssa.MakeClosure, x ssa.Value) bool {
	for _, fv := range captures(mc, x) {
		for _, r := range *fv.Referrers() {
			if _, load := r.(*ssa.UnOp); !load {
				return true
			}
		}
	}
	return false
}

// compare evaluates a comparison with a constant or with an error that has a name.
func (a *assumption) compare(b *ssa.BinOp) value {
	x, y := b.X, b.Y
	op := b.Op
	if _, ok := x.(*ssa.Const); ok {
		x, y = y, x
		op = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ, token.GEQ: token.LEQ}[op]
		if op == 0 {
			op = b.Op
		}
	}
	v := a.eval(x)
	if v == none || v == either {
		return v
	}
	w := a.eval(y)
	if name := sentinel(y); name != "" && v == other {
		w = other
		if strings.HasPrefix(name, "context.") {
			w = zero
		}
	}
	if w == none || w == either {
		return either
	}
	switch op {
	case token.EQL:
		return is(v == w)
	case token.NEQ:
		return is(v != w)
	case token.LSS:
		return is(v < w)
	case token.GTR:
		return is(v > w)
	case token.LEQ:
		return is(v <= w)
	case token.GEQ:
		return is(v >= w)
	}
	return either
}

// sentinel names the package variable that v is loaded from: "context.Canceled".
func sentinel(v ssa.Value) string {
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.MUL {
		if g, ok := u.X.(*ssa.Global); ok && g.Pkg != nil {
			return g.Pkg.Pkg.Path() + "." + g.Name()
		}
	}
	return ""
}

// result is result i of a call.
func (a *assumption) result(c *ssa.Call, i int) value {
	name := calledName(&c.Call)
	switch name {
	case "errors.New", "fmt.Errorf":
		return other
	case "errors.Is":
		v := a.eval(c.Call.Args[0])
		if v == other && strings.HasPrefix(sentinel(c.Call.Args[1]), "context.") {
			return zero
		}
		return v
	}
	if c == a.call {
		if a.results != nil {
			return a.results[i]
		}
		return a.answer(c.Call.Signature().Results(), i, a.asks(c))
	}
	if !a.reads(c, 0) {
		return either
	}
	if strings.HasSuffix(name, "Nil") { // rueidis.IsRedisNil
		return is(!a.granted)
	}
	return a.answer(c.Call.Signature().Results(), i, a.eff.Cmd != nil && (a.eff.Cmd.ByError || a.eff.Cmd.NilReply && converts(c)))
}

// converts reports whether a call reads a reply as a value, with an error when there is none.
func converts(c *ssa.Call) bool {
	fn := c.Call.StaticCallee()
	if fn == nil {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok {
		return false
	}
	m := client.CommandOf(obj)
	return m != nil && m.Op == client.ReplyOf
}

// asks reports whether the acquire's own call says no by an error.
func (a *assumption) asks(c *ssa.Call) bool {
	r := c.Call.Signature().Results()
	for v := range r.Variables() {
		switch t := v.Type().Underlying().(type) {
		case *types.Basic:
			return false
		case *types.Interface:
			if t.Empty() { // redigo's Do, whose reply is nil then
				return false
			}
		}
	}
	return true
}

// answer is result i of a call that tells of the acquire, by its type.
func (a *assumption) answer(r *types.Tuple, i int, byError bool) value {
	if i >= r.Len() {
		return either
	}
	t := r.At(i).Type()
	if types.Identical(t, types.Universe.Lookup("error").Type()) {
		return is(!a.granted && byError)
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return is(a.granted)
	case *types.Interface:
		if t.Empty() {
			return is(a.granted)
		}
	case *types.Pointer:
		if r.Len() > 1 && byError {
			return is(a.granted)
		}
	}
	return either
}

// reads reports whether a call reads the acquire's answer from its reply: Result, redis.String.
func (a *assumption) reads(c *ssa.Call, depth int) bool {
	if depth > 4 || a.p.callee(&c.Call) != nil {
		return false
	}
	if c.Call.IsInvoke() {
		return a.reply(c.Call.Value, depth)
	}
	fn := c.Call.StaticCallee()
	if fn == nil || len(c.Call.Args) == 0 {
		return false
	}
	if fn.Signature.Recv() == nil && !(fn.Pkg != nil && redisPackage(fn.Pkg.Pkg.Path())) {
		return false
	}
	return a.reply(c.Call.Args[0], depth)
}

func redisPackage(path string) bool {
	return client.RedisPath(path) || strings.HasSuffix(path, "/rueidis")
}

// reply reports whether v is the acquire's reply.
func (a *assumption) reply(v ssa.Value, depth int) bool {
	switch v := v.(type) {
	case *ssa.Call:
		return v == a.call || a.reads(v, depth+1)
	case *ssa.Extract:
		return a.reply(v.Tuple, depth)
	case *ssa.MakeInterface:
		return a.reply(v.X, depth)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return a.reply(v.X, depth)
		}
	case *ssa.Alloc: // a reply that is a struct, to call a method on
		for _, r := range *v.Referrers() {
			if s, ok := r.(*ssa.Store); ok && s.Addr == v && depth < 4 && a.reply(s.Val, depth+1) {
				return true
			}
		}
	}
	return false
}

// depends reports whether v is made from the acquire's answer.
func (a *assumption) depends(v ssa.Value, depth int) bool {
	if depth > 8 {
		return false
	}
	if v == a.call {
		return true
	}
	switch v := v.(type) {
	case *ssa.UnOp:
		if x, ok := v.X.(*ssa.Alloc); ok {
			for _, r := range *x.Referrers() {
				if s, ok := r.(*ssa.Store); ok && s.Addr == x && a.reached[s.Block()] && a.depends(s.Val, depth+1) {
					return true
				}
			}
			return false
		}
	case *ssa.Call, *ssa.Extract, *ssa.BinOp, *ssa.Phi, *ssa.Convert, *ssa.ChangeType, *ssa.ChangeInterface:
	default:
		return false
	}
	for _, op := range v.(ssa.Instruction).Operands(nil) {
		if *op != nil && a.depends(*op, depth+1) {
			return true
		}
	}
	return false
}

// calledName is the full name of the function or method that is called, "" for a function value.
func calledName(c *ssa.CallCommon) string {
	if obj := stores.Called(c); obj != nil {
		return obj.FullName()
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return b.Name()
	}
	return ""
}
