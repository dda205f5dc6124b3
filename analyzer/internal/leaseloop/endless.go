package leaseloop

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
)

// starters run their function argument, by its number, in a goroutine.
var starters = map[string]int{
	"(*sync.WaitGroup).Go": 1, "(*golang.org/x/sync/errgroup.Group).Go": 1, "(*golang.org/x/sync/errgroup.Group).TryGo": 1,
}

// endless finds the goroutines that renew a lock and that nothing ends.
func (p *Program) endless() []*lockstate.Finding {
	var out []*lockstate.Finding
	for _, fn := range p.fns {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				c, ok := in.(ssa.CallInstruction)
				if !ok {
					continue
				}
				g, env := p.goroutine(c)
				if g == nil {
					continue
				}
				if f := p.neverEnds(g, env, 0); f != nil {
					out = append(out, p.newFinding(c.Common(), f, lockstate.NeverStopped))
				}
			}
		}
	}
	return out
}

// goroutine is the function that a call starts, with the arguments that it gets.
func (p *Program) goroutine(c ssa.CallInstruction) (*ssa.Function, bindings) {
	common := c.Common()
	if _, ok := c.(*ssa.Go); ok {
		fn := p.callee(common)
		return fn, bindings(nil).call(fn, common.Args)
	}
	i, ok := starters[calledName(common)]
	if !ok || i >= len(common.Args) {
		return nil, nil
	}
	switch v := common.Args[i].(type) {
	case *ssa.Function:
		if p.own[v] {
			return v, nil
		}
	case *ssa.MakeClosure:
		fn := v.Fn.(*ssa.Function)
		if p.own[fn] {
			return fn, nil
		}
		if obj, ok := fn.Object().(*types.Func); ok && fn.Synthetic != "" { // a method value
			if m := fn.Prog.FuncValue(obj); m != nil && p.own[m] {
				return m, bindings(nil).call(m, v.Bindings)
			}
		}
	}
	return nil, nil
}

// neverEnds gives the renewal in a loop of fn, or of what it calls, that nothing ends; nil when there is none.
func (p *Program) neverEnds(fn *ssa.Function, env bindings, depth int) *lockstate.Finding {
	if depth > maxDepth || !p.renewing[fn] {
		return nil
	}
	for _, l := range loops(fn) {
		if _, f := p.renewalIn(l); f != nil && !p.wayOut(l, env) {
			return f
		}
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(*ssa.Call)
			if !ok || p.renews(c) == nil {
				continue
			}
			if to := p.callee(&c.Call); to != nil && to != fn {
				if f := p.neverEnds(to, env.call(to, c.Call.Args), depth+1); f != nil {
					return f
				}
			}
		}
	}
	return nil
}

func (p *Program) renewalIn(l loop) (*ssa.Call, *lockstate.Finding) {
	for _, b := range l.blocks {
		for _, in := range b.Instrs {
			if c, ok := in.(*ssa.Call); ok {
				if f := p.renews(c); f != nil {
					return c, f
				}
			}
		}
	}
	return nil, nil
}

// loop is the blocks that are all reached from one another: the outermost of loops in one another.
type loop struct {
	blocks []*ssa.BasicBlock
	has    map[*ssa.BasicBlock]bool
}

func loops(fn *ssa.Function) []loop {
	var out []loop
	reach := map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool{}
	for _, b := range fn.Blocks {
		reach[b] = reachable(b)
	}
	in := map[*ssa.BasicBlock]bool{}
	for _, b := range fn.Blocks {
		if in[b] || !reach[b][b] {
			continue
		}
		l := loop{has: map[*ssa.BasicBlock]bool{}}
		for _, c := range fn.Blocks {
			if reach[b][c] && reach[c][b] {
				l.blocks = append(l.blocks, c)
				l.has[c], in[c] = true, true
			}
		}
		out = append(out, l)
	}
	return out
}

// reachable are the blocks to which b leads, itself only when it is in a loop.
func reachable(b *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	out := map[*ssa.BasicBlock]bool{}
	list := append([]*ssa.BasicBlock(nil), b.Succs...)
	for len(list) > 0 {
		x := list[len(list)-1]
		list = list[:len(list)-1]
		if !out[x] {
			out[x] = true
			list = append(list, x.Succs...)
		}
	}
	return out
}

// wayOut reports whether something may end a loop. A condition that is not understood may.
func (p *Program) wayOut(l loop, env bindings) bool {
	for _, b := range l.blocks {
		for _, in := range b.Instrs {
			if ends(in) {
				return true
			}
		}
		for i, s := range b.Succs {
			if l.has[s] || noCase(s) {
				continue
			}
			c, ok := branch(b)
			if !ok || p.mayBe(c.Cond, i == 0, env) {
				return true
			}
		}
	}
	return false
}

// noCase reports whether a block is the one after a select's last case, which is never come to.
func noCase(b *ssa.BasicBlock) bool {
	if len(b.Instrs) == 0 {
		return false
	}
	x, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Panic)
	if !ok {
		return false
	}
	m, ok := x.X.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	c, ok := m.X.(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.String && constant.StringVal(c.Value) == "blocking select matched no case"
}

// mayBe reports whether a loop's condition may be what ends it.
func (p *Program) mayBe(cond ssa.Value, want bool, env bindings) bool {
	switch c := cond.(type) {
	case *ssa.Const:
		return c.Value == nil || constant.BoolVal(c.Value) == want
	case *ssa.UnOp:
		if c.Op == token.NOT {
			return p.mayBe(c.X, !want, env)
		}
	case *ssa.Extract:
		return want || p.notOK(c, env)
	case *ssa.BinOp:
		return p.compared(c, want, env)
	}
	return true
}

// notOK reports whether the second result of a receive may say that the channel is closed.
func (p *Program) notOK(x *ssa.Extract, env bindings) bool {
	switch t := x.Tuple.(type) {
	case *ssa.UnOp:
		return t.Op != token.ARROW || x.Index != 1 || p.fires(t.X, true, env)
	case *ssa.Select:
		if x.Index != 1 || len(t.States) != 1 {
			return true
		}
		return p.fires(t.States[0].Chan, true, env)
	}
	return true
}

// compared looks at the case that a select chose, and at a context's error.
func (p *Program) compared(c *ssa.BinOp, want bool, env bindings) bool {
	if x, ok := c.X.(*ssa.Extract); ok && c.Op == token.EQL {
		s, ok := x.Tuple.(*ssa.Select)
		n, isConst := c.Y.(*ssa.Const)
		if !ok || x.Index != 0 || !isConst || !want {
			return true
		}
		i := int(n.Int64())
		if i < 0 || i >= len(s.States) || s.States[i].Dir != types.RecvOnly {
			return true
		}
		return p.fires(s.States[i].Chan, false, env)
	}
	call, ok := c.X.(*ssa.Call)
	if !ok || calledName(&call.Call) != "(context.Context).Err" || c.Op != token.EQL && c.Op != token.NEQ {
		return true
	}
	if n, ok := c.Y.(*ssa.Const); !ok || !n.IsNil() {
		return true
	}
	if want == (c.Op == token.EQL) {
		return true
	}
	return p.ended(call.Call.Value, env)
}
