package leaseloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
)

// fires reports whether a channel may give something, or with closed whether it may be closed.
func (p *Program) fires(ch ssa.Value, closed bool, env bindings) bool {
	for _, o := range p.origins(ch, env) {
		switch v := o.(type) {
		case *ssa.Const:
			continue // nil gives nothing
		case *ssa.MakeChan:
			if !p.used(v, closed) {
				continue
			}
		case *ssa.Call:
			switch name := calledName(&v.Call); {
			case name == "(context.Context).Done":
				if !p.ended(v.Call.Value, env) {
					continue
				}
			case makers[name] && closed:
				continue
			}
		case *ssa.UnOp: // a ticker's C, which Stop does not close
			if f, ok := v.X.(*ssa.FieldAddr); ok && closed && timerType(f.X.Type()) {
				continue
			}
		}
		return true
	}
	return false
}

// detached are the contexts that nothing ends, and cancels those that have a function to end them.
var (
	detached = map[string]bool{"context.Background": true, "context.TODO": true, "context.WithoutCancel": true}
	cancels  = map[string]bool{"context.WithCancel": true, "context.WithCancelCause": true}
)

// ended reports whether a context may be done some day.
func (p *Program) ended(ctx ssa.Value, env bindings) bool {
	for _, o := range p.origins(ctx, env) {
		if p.mayEnd(o, env) {
			return true
		}
	}
	return false
}

func (p *Program) mayEnd(v ssa.Value, env bindings) bool {
	switch v := v.(type) {
	case *ssa.Const:
		return false
	case *ssa.Call:
		name := calledName(&v.Call)
		if name == "context.WithValue" {
			return p.ended(v.Call.Args[0], env)
		}
		return !detached[name]
	case *ssa.Extract:
		c, ok := v.Tuple.(*ssa.Call)
		if !ok || v.Index != 0 || !cancels[calledName(&c.Call)] {
			return true
		}
		for _, r := range *c.Referrers() {
			if x, ok := r.(*ssa.Extract); ok && x.Index == 1 && len(*x.Referrers()) > 0 {
				return true
			}
		}
		return p.ended(c.Call.Args[0], env)
	}
	return true
}

// used reports whether something is sent to a channel, or the channel closed, anywhere in the package, or
// by code that is not in view; with closed only whether it is closed.
func (p *Program) used(ch ssa.Value, closed bool) bool {
	u := &use{p: p, closed: closed, seen: map[ssa.Value]bool{}}
	return u.value(ch)
}

type use struct {
	p      *Program
	closed bool
	seen   map[ssa.Value]bool
}

// value looks at what is done with a channel.
func (u *use) value(v ssa.Value) bool {
	if u.seen[v] {
		return false
	}
	u.seen[v] = true
	for _, r := range *v.Referrers() {
		if u.by(v, r) {
			return true
		}
	}
	return false
}

func (u *use) by(v ssa.Value, r ssa.Instruction) bool {
	switch r := r.(type) {
	case *ssa.DebugRef, *ssa.BinOp, *ssa.UnOp:
		return false // compared, or received from
	case *ssa.Select:
		for _, st := range r.States {
			if st.Chan == v && st.Dir == types.SendOnly && !u.closed || st.Send == v {
				return true
			}
		}
		return false
	case *ssa.Send:
		return r.X == v || !u.closed
	case *ssa.ChangeType:
		return u.value(r)
	case *ssa.Phi:
		return u.value(r)
	case *ssa.Store:
		return u.stored(r.Addr)
	case *ssa.MakeClosure:
		return u.captured(r, v, u.value)
	case ssa.CallInstruction:
		return u.passed(v, r)
	}
	return true // given to who may do anything
}

func (u *use) captured(mc *ssa.MakeClosure, v ssa.Value, look func(ssa.Value) bool) bool {
	if !u.p.own[mc.Fn.(*ssa.Function)] {
		return true
	}
	return slices.ContainsFunc(captures(mc, v), look)
}

func (u *use) passed(v ssa.Value, c ssa.CallInstruction) bool {
	common := c.Common()
	if b, ok := common.Value.(*ssa.Builtin); ok {
		return b.Name() == "close"
	}
	fn := u.p.callee(common)
	if fn == nil {
		return true
	}
	for i, a := range common.Args {
		if a == v && u.value(fn.Params[i]) {
			return true
		}
	}
	return false
}

// stored looks at the loads of where a channel is kept.
func (u *use) stored(addr ssa.Value) bool {
	switch a := addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return u.cell(a)
	case *ssa.Global:
		return u.p.public(a) || u.global(a)
	case *ssa.FieldAddr:
		place := stores.Place(a)
		if place == "" || u.p.public(a) {
			return true
		}
		return slices.ContainsFunc(u.p.addrs[place], u.loads) || slices.ContainsFunc(u.p.read[place], u.value)
	}
	return true
}

// cell looks at a local variable, in its function and in the closures that capture it.
func (u *use) cell(x ssa.Value) bool {
	if fv, ok := x.(*ssa.FreeVar); ok {
		b := u.p.binding(fv)
		return b == nil || u.cell(b)
	}
	if u.seen[x] {
		return false
	}
	u.seen[x] = true
	return u.loads(x)
}

func (u *use) loads(addr ssa.Value) bool {
	for _, r := range *addr.Referrers() {
		switch r := r.(type) {
		case *ssa.Store, *ssa.DebugRef:
		case *ssa.UnOp:
			if r.Op == token.MUL && u.value(r) {
				return true
			}
		case *ssa.MakeClosure:
			if u.captured(r, addr, u.loads) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// global looks at all loads of a package's variable, which has no list of its referrers.
func (u *use) global(g *ssa.Global) bool {
	for _, fn := range u.p.fns {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				if x, ok := in.(*ssa.UnOp); ok && x.X == g && u.value(x) {
					return true
				}
			}
		}
	}
	return false
}
