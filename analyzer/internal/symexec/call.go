package symexec

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// call is a call with its operands evaluated: a deferred call keeps those of its defer statement.
type call struct {
	common *ssa.CallCommon
	fn     *term.Term   // the function value of a dynamic call
	args   []*term.Term // the receiver first
	value  ssa.Value    // where the results go; nil for defer
	site   string
	pos    token.Pos
	name   string // for trails
	// lexical: the callee is written inside this function, so its lines are this function's.
	lexical bool
	// sig is the signature when there is no common; results take what the call gives.
	sig     *types.Signature
	results *[]*term.Term
}

func (x *exec) prepare(s *state, common *ssa.CallCommon, value ssa.Value, site string) *call {
	c := &call{common: common, value: value, site: site, pos: common.Pos()}
	if common.IsInvoke() {
		c.args = append(c.args, x.val(s, common.Value))
		c.name = common.Method.Name()
	} else {
		c.fn = x.val(s, common.Value)
		if f := common.StaticCallee(); f != nil {
			c.name = f.Name()
		}
	}
	for _, a := range common.Args {
		c.args = append(c.args, x.val(s, a))
	}
	return c
}

// call runs c in s and returns the states after it.
func (x *exec) call(s *state, c *call) []*state {
	if b, ok := c.common.Value.(*ssa.Builtin); ok {
		return x.builtin(s, c, b)
	}
	if c.common.IsInvoke() {
		return x.invoke(s, c)
	}
	if fn := c.common.StaticCallee(); fn != nil {
		if _, closure := c.common.Value.(*ssa.MakeClosure); !closure {
			return x.static(s, c, fn)
		}
	}
	return x.dynamic(s, c, c.fn, c.args)
}

// static calls a function or method that is known by name.
func (x *exec) static(s *state, c *call, fn *ssa.Function) []*state {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	obj, _ := fn.Object().(*types.Func)
	if obj != nil {
		if m := client.Of(obj); m != nil {
			return x.row(s, c, m, obj)
		}
		if m := client.CommandOf(obj); m != nil {
			return x.command(s, c, m, obj)
		}
		if m := client.LeaseOf(obj); m != nil {
			return x.lease(s, c, m, obj)
		}
		if outs := x.known(s, c, obj); outs != nil {
			return outs
		}
	}
	if len(fn.Blocks) > 0 {
		if sum := x.w.Summary(fn); sum != nil {
			return x.apply(s, c, sum, c.args, nil)
		}
	} else if obj != nil {
		if sum := x.w.Imported(obj); sum != nil {
			return x.apply(s, c, sum, c.args, nil)
		}
	}
	return x.opaque(s, c, calleeName(obj, fn))
}

func calleeName(obj *types.Func, fn *ssa.Function) string {
	if obj != nil {
		return obj.FullName()
	}
	return fn.String()
}

// invoke calls a method through an interface.
func (x *exec) invoke(s *state, c *call) []*state {
	if m := client.Declared(c.common.Method); m != nil {
		return x.row(s, c, m, c.common.Method)
	}
	recv, name := c.args[0], c.common.Method.Name()
	static := typeName(c.common.Value.Type())
	for _, t := range []string{recv.Type, static} {
		if t == "" {
			continue
		}
		if m := client.MethodOf(t, name); m != nil && m.Fits(c.common.Signature()) == nil {
			return x.row(s, c, m, c.common.Method)
		}
	}
	if recv.Type != "" && recv.Type != static {
		if fn := x.w.Method(recv.Type, name); fn != nil {
			if outs := x.method(s, c, fn); outs != nil {
				return outs
			}
		}
	}
	if m := client.Shape(name, c.common.Signature()); m != nil {
		return x.row(s, c, m, c.common.Method)
	}
	if m := client.CommandOf(c.common.Method); m != nil {
		return x.command(s, c, m, c.common.Method)
	}
	if m := client.CommandShape(name, c.common.Signature()); m != nil && !x.w.Implemented(c.common.Value.Type()) {
		return x.command(s, c, m, c.common.Method)
	}
	if m := client.LeaseOf(c.common.Method); m != nil {
		return x.lease(s, c, m, c.common.Method)
	}
	if outs := x.known(s, c, c.common.Method); outs != nil {
		return outs
	}
	var outs []*state
	impls := x.w.Implementers(c.common.Value.Type(), name)
	for i, fn := range impls {
		in := s
		if i < len(impls)-1 {
			in = s.clone()
		}
		if o := x.method(in, c, fn); o != nil {
			outs = append(outs, o...)
		}
	}
	if outs != nil {
		return outs
	}
	if sum := x.w.Imported(c.common.Method); !sum.Silent() { // of the one type that its package knows
		return x.apply(s, c, sum, c.args, nil)
	}
	return x.opaque(s, c, c.common.Method.FullName())
}

// method calls a method found for an interface's dynamic type; nil when nothing is known of it.
func (x *exec) method(s *state, c *call, fn *types.Func) []*state {
	if m := client.Of(fn); m != nil {
		return x.row(s, c, m, fn)
	}
	if m := client.CommandOf(fn); m != nil {
		return x.command(s, c, m, fn)
	}
	if m := client.LeaseOf(fn); m != nil {
		return x.lease(s, c, m, fn)
	}
	if f := x.w.Func(fn); f != nil && len(f.Blocks) > 0 {
		if sum := x.w.Summary(f); sum != nil {
			return x.apply(s, c, sum, c.args, nil)
		}
		return nil
	}
	if sum := x.w.Imported(fn); sum != nil {
		return x.apply(s, c, sum, c.args, nil)
	}
	return nil
}

// dynamic calls a function value.
func (x *exec) dynamic(s *state, c *call, fn *term.Term, args []*term.Term) []*state {
	if fn.Op == term.Phi {
		var outs []*state
		for i, f := range fn.Args {
			in := s
			if i < len(fn.Args)-1 {
				in = s.clone()
			}
			if !f.IsNil() {
				outs = append(outs, x.dynamic(in, c, f, args)...)
			}
		}
		if outs != nil {
			return outs
		}
		return x.opaque(s, c, "phi")
	}
	if m, obj := x.boundRow(fn); m != nil {
		d := *c
		d.args = append([]*term.Term{fn.Args[0]}, args...)
		return x.row(s, &d, m, obj)
	}
	if outs := x.leaseValue(s, c, fn, args); outs != nil {
		return outs
	}
	sum, all, frees := x.target(fn, args)
	if sum != nil {
		d := *c
		d.lexical = x.inside(fn)
		return x.apply(s, &d, sum, all, frees)
	}
	if c.common == nil {
		return []*state{s} // a cleanup that is not followed
	}
	if symbolic(fn) {
		// What a parameter does is the caller's to say.
		made := term.New(term.Call, "invoke", c.site, "")
		s.emit(&summary.Effect{Op: summary.Invoke, Site: c.site, Steps: x.step(c), Fn: fn, Args: args, Made: made})
		x.consumeAll(s, args)
		x.ret(s, c, x.results(c, made))
		return []*state{s}
	}
	return x.opaque(s, c, "func")
}

// boundRow is the catalogue's row of a client's method that is used as a value: conn.Release.
func (x *exec) boundRow(fn *term.Term) (*client.Method, *types.Func) {
	if fn.Op != term.Bound {
		return nil, nil
	}
	obj := x.w.External(fn.Str)
	if obj == nil {
		return nil, nil
	}
	return client.Of(obj), obj
}

// target is the summary behind a function value, with the arguments that it takes.
func (x *exec) target(fn *term.Term, args []*term.Term) (sum *summary.Summary, all, frees []*term.Term) {
	switch fn.Op {
	case term.Closure:
		return x.w.Closure(fn.Str), args, fn.Args
	case term.Func:
		return x.w.Closure(fn.Str), args, nil
	case term.Bound:
		return x.w.Closure(fn.Str), append([]*term.Term{fn.Args[0]}, args...), nil
	}
	return nil, args, nil
}

// inside reports whether a function value's code is written inside the function followed, or in
// the one around it.
func (x *exec) inside(fn *term.Term) bool {
	if fn.Op != term.Closure && fn.Op != term.Func {
		return false
	}
	top := x.fn
	for top.Parent() != nil {
		top = top.Parent()
	}
	return strings.HasPrefix(fn.Str, FuncKey(top)+"$")
}

// runDefers runs the deferred calls, last first.
func (x *exec) runDefers(s *state) []*state {
	states := []*state{s}
	var out []*state
	for len(states) > 0 {
		s := states[0]
		states = states[1:]
		if s.defers == nil {
			out = append(out, s)
			continue
		}
		if x.steps++; x.steps > maxSteps {
			x.run.Truncated = true
			return out
		}
		c := s.defers.call
		s.defers = s.defers.parent
		outer, outerSite := s.cleanup, s.cleanupSite
		s.cleanup, s.cleanupSite = summary.InDefer, c.site
		for _, o := range mergeAll(x.call(s, c)) {
			o.cleanup, o.cleanupSite = outer, outerSite
			states = append(states, o)
		}
		if len(states) > maxStates {
			states, x.run.Truncated = states[:maxStates], true
		}
	}
	return out
}

// opaque calls something of which nothing is known.
func (x *exec) opaque(s *state, c *call, name string) []*state {
	site := c.site
	if pure(name) {
		site = ""
	}
	args := c.args
	if site == "" {
		args = x.spread(s, c)
	}
	for _, a := range c.args {
		x.passed(s, c, a, site == "")
	}
	made := term.New(term.Call, name, site, x.resultType(c, 0), args...)
	x.ret(s, c, x.results(c, made))
	return []*state{s}
}

// passed notes what follows from handing a to code that is not followed.
func (x *exec) passed(s *state, c *call, a *term.Term, harmless bool) {
	x.consume(s, a)
	if harmless {
		return
	}
	switch a.Op {
	case term.Closure, term.Func, term.Bound:
		x.escape(s, c, a, nil, summary.NoCleanup)
	case term.Load:
		if a.Args[0].Op == term.Cell { // a struct, by value
			x.passed(s, c, a.Args[0], false)
		}
	case term.Cell:
		if e, ok := s.mem.get(a.Key()); ok {
			x.consume(s, e.Val)
			s.mem.put(summary.Store{Loc: a, Val: term.Unknown(c.site+"*", e.Val.Type)})
		} else if x.nested < maxNested { // memory can lead back to itself
			x.nested++
			for _, e := range append(s.mem.parts(a, term.ElemPtr), s.mem.parts(a, term.FieldPtr)...) {
				x.passed(s, c, e.Val, false)
			}
			x.nested--
		}
	}
	if t, ok := client.TypeOf(a.Type); ok && t.Kind != client.Pool && t.Kind != client.Unknown {
		s.emit(&summary.Effect{Op: summary.Give, Site: c.site, Steps: x.step(c), Handle: a})
	}
}

// escape notes a function value that may run later, with the outcomes that it would have now.
func (x *exec) escape(s *state, at *call, fn *term.Term, args []*term.Term, cl summary.Cleanup) {
	if fn == nil {
		return
	}
	site := at.site + "e"
	alts := x.later(s, fn, args, &call{site: site, pos: at.pos, name: at.name}, cl)
	if len(alts) > 0 {
		s.emit(&summary.Effect{Op: summary.Escape, Site: site, Cleanup: cl, CleanupSite: site, Fn: fn, Alts: alts})
	}
}

func (x *exec) builtin(s *state, c *call, b *ssa.Builtin) []*state {
	switch b.Name() {
	case "append":
		x.ret(s, c, []*term.Term{x.appended(s, c)})
	case "panic":
		return nil
	case "print", "println":
		x.consumeAll(s, c.args)
		x.ret(s, c, nil)
	default:
		x.ret(s, c, []*term.Term{term.New(term.Call, b.Name(), "", x.resultType(c, 0), c.args...)})
	}
	return []*state{s}
}

// appended is a fresh slice with the elements of the first argument and then of the second.
func (x *exec) appended(s *state, c *call) *term.Term {
	out := term.New(term.Cell, "", c.site, x.resultType(c, 0))
	n := 0
	for _, from := range c.args {
		elems, known := elementsOf(s, from)
		if !known {
			if more, ok := elementsOf(s, c.args[len(c.args)-1]); ok {
				for _, e := range more {
					x.kept(s, e, c.site)
				}
			}
			return term.New(term.Call, "append", "", "", c.args...)
		}
		for _, e := range elems {
			x.kept(s, e, c.site)
		}
		for _, e := range elems {
			s.store(elemPtr(out, term.Int(strconv.Itoa(n))), e)
			n++
		}
	}
	return out
}

// elementsOf are the elements of a slice that was made in view, in order.
func elementsOf(s *state, slice *term.Term) (elems []*term.Term, known bool) {
	if slice.IsNil() {
		return nil, true
	}
	if slice.Op != term.Cell {
		return nil, false
	}
	for i := 0; ; i++ {
		e, ok := s.mem.get(elemPtr(slice, term.Int(strconv.Itoa(i))).Key())
		if !ok {
			return elems, true
		}
		elems = append(elems, e.Val)
	}
}

// spread are a call's arguments with those of its variadic parameter one by one where they are
// known.
func (x *exec) spread(s *state, c *call) []*term.Term {
	if c.common == nil || !c.common.Signature().Variadic() || len(c.args) == 0 {
		return c.args
	}
	last := len(c.args) - 1
	elems, known := elementsOf(s, c.args[last])
	if !known {
		return c.args
	}
	return append(append([]*term.Term(nil), c.args[:last]...), elems...)
}

// ret gives a call its results.
func (x *exec) ret(s *state, c *call, res []*term.Term) {
	if c.results != nil {
		*c.results = res
	}
	if c.value == nil {
		return
	}
	if len(res) == 1 {
		s.regs.set(c.value, res[0].WithType(orType(res[0].Type, x.resultType(c, 0))))
		return
	}
	s.tuples.set(c.value, res)
	s.regs.set(c.value, term.Unknown(c.site, ""))
}

func (x *exec) signature(c *call) *types.Signature {
	if c.sig != nil {
		return c.sig
	}
	if c.common == nil {
		return types.NewSignatureType(nil, nil, nil, nil, nil, false)
	}
	return c.common.Signature()
}

func (x *exec) resultType(c *call, i int) string {
	if r := x.signature(c).Results(); i < r.Len() {
		return typeName(r.At(i).Type())
	}
	return ""
}

// results are the results of an opaque call made.
func (x *exec) results(c *call, made *term.Term) []*term.Term {
	n := x.signature(c).Results().Len()
	if n == 1 {
		return []*term.Term{made.WithType(x.resultType(c, 0))}
	}
	out := make([]*term.Term, n)
	for i := range out {
		out[i] = term.New(term.Result, strconv.Itoa(i), "", x.resultType(c, i), made)
	}
	return out
}

func (x *exec) step(c *call) []summary.Step {
	return []summary.Step{{Pos: c.pos, Posn: x.w.Posn(c.pos), Name: c.name}}
}
