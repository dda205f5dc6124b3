package leaseloop

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
)

// retry looks whether an acquire that was refused is tried again, for the same key, and what is waited for
// in between. A round that passes the same wait when the lock was won is a periodic step and no retry.
func (p *Program) retry(f *lockstate.Finding) {
	steps := f.Effect.Steps
	if len(steps) == 0 || !p.local(steps[0]) {
		return
	}
	call, ok := p.calls[steps[0].Pos].(*ssa.Call)
	if !ok || waitsItself(&call.Call) {
		return
	}
	no := p.assume(call, f.Effect, false, 0)
	if no.never || !no.decides || no.open {
		return
	}
	r := &rounds{p: p, a: no, call: call, bars: p.keyGivers(call)}
	r.slowCall = p.crossing(call, f.Effect, nil)
	if r.slowCall.free && r.again(call, false) {
		f.Verdicts |= lockstate.Spins
		return
	}
	waits := r.waits()
	if len(waits) == 0 {
		return
	}
	yes := &rounds{p: p, a: p.assume(call, f.Effect, true, 0), call: call, bars: r.bars}
	for _, w := range waits {
		if !w.fixed {
			return
		}
		if w.at != call && yes.passes(w.at) {
			return
		}
	}
	f.Verdicts |= lockstate.InStep
}

// waiters are the libraries' acquires that wait by themselves.
var waiters = map[string]bool{
	"(*github.com/go-redsync/redsync/v4.Mutex).Lock": true, "(*github.com/go-redsync/redsync/v4.Mutex).LockContext": true,
	"(*go.etcd.io/etcd/client/v3/concurrency.Mutex).Lock": true, "(*go.etcd.io/etcd/client/v3/concurrency.Election).Campaign": true,
	"(github.com/redis/rueidis/rueidislock.Locker).WithContext": true, "(github.com/redis/rueidis/rueidislock.Locker).ForceWithContext": true,
}

// obtains take a retry strategy with their last argument, and ask once when it is nil.
var obtains = map[string]bool{
	"(*github.com/bsm/redislock.Client).Obtain": true, "github.com/bsm/redislock.Obtain": true,
	"(*github.com/bsm/redislock.Client).ObtainMulti": true,
}

func waitsItself(c *ssa.CallCommon) bool {
	name := calledName(c)
	if obtains[name] {
		opt, ok := c.Args[len(c.Args)-1].(*ssa.Const)
		return !ok || !opt.IsNil()
	}
	return waiters[name]
}

// rounds are the ways from an acquire that was answered back to itself.
type rounds struct {
	p        *Program
	a        *assumption
	call     *ssa.Call
	bars     map[ssa.Instruction]bool // beyond them the key is another
	slowCall crossing                 // what call itself waits for
}

// search walks from a point over live edges until it comes to an instruction at which stop is true, or to a
// bar. It reports whether it came to the acquire.
func (r *rounds) search(from place, stop func(ssa.Instruction) bool) bool {
	return walk(from, func(at place) ([]place, bool) { return r.block(at, stop) })
}

// block walks to the end of one block, and gives where it goes on.
func (r *rounds) block(at place, stop func(ssa.Instruction) bool) (next []place, found bool) {
	for _, in := range at.b.Instrs[at.i:] {
		switch {
		case in == ssa.Instruction(r.call):
			return nil, true
		case r.bars[in] || stop(in) || ends(in):
			return nil, false
		case r.recurs(in):
			next = append(next, place{r.call.Parent().Blocks[0], 0})
			return next, false
		}
	}
	for _, s := range at.b.Succs {
		if !r.a.reached[at.b] || r.a.live[edge{at.b, s}] { // before the acquire nothing is known
			next = append(next, place{s, 0})
		}
	}
	return next, false
}

// recurs reports whether an instruction calls the acquire's function again, for the same key.
func (r *rounds) recurs(in ssa.Instruction) bool {
	c, ok := in.(*ssa.Call)
	if !ok || c.Call.StaticCallee() != r.call.Parent() || c == r.call {
		return false
	}
	for i, x := range c.Call.Args {
		if x == r.call.Parent().Params[i] {
			continue
		}
		b, basic := x.Type().Underlying().(*types.Basic)
		if basic && b.Info()&types.IsString != 0 || !basic && x.Type().String() != "context.Context" {
			return false
		}
	}
	return true
}

// again reports whether the acquire is reached from an instruction, without a wait or with any.
func (r *rounds) again(from ssa.Instruction, waiting bool) bool {
	return r.search(after(from), func(in ssa.Instruction) bool { return !waiting && !r.p.crossed(in, nil, 0).free })
}

// waits are those on the rounds.
func (r *rounds) waits() []wait {
	if !r.again(r.call, true) {
		return nil
	}
	out := append([]wait(nil), r.slowCall.waits...)
	var met []ssa.Instruction
	r.reach(after(r.call), func(in ssa.Instruction) { met = append(met, in) })
	seen := map[ssa.Instruction]bool{}
	for _, in := range met {
		if seen[in] {
			continue
		}
		seen[in] = true
		if s, ok := in.(*ssa.Select); ok {
			out = append(out, r.selected(s)...)
		} else if c := r.p.crossed(in, nil, 0); len(c.waits) > 0 && r.again(in, true) {
			for _, w := range c.waits {
				w.at = in
				out = append(out, w)
			}
		}
	}
	return out
}

// reach visits all that is reached from a point up to the acquire.
func (r *rounds) reach(from place, visit func(ssa.Instruction)) {
	walk(from, func(at place) ([]place, bool) {
		next, _ := r.block(at, func(in ssa.Instruction) bool { visit(in); return false })
		return next, false
	})
}

// passes reports whether a round goes by an instruction.
func (r *rounds) passes(at ssa.Instruction) bool {
	met := false
	r.reach(after(r.call), func(in ssa.Instruction) { met = met || in == at })
	return met && r.again(at, true)
}

// selected gives what a select waits for: its cases after which the acquire is tried again.
func (r *rounds) selected(s *ssa.Select) []wait {
	if !s.Blocking {
		return nil
	}
	var out []wait
	for i, st := range s.States {
		to := caseBlock(s, i)
		if to != nil && !r.search(place{to, 0}, func(ssa.Instruction) bool { return false }) {
			continue
		}
		w := wait{at: s}
		if st.Dir == types.RecvOnly {
			w.fixed = r.p.ticks(st.Chan, nil)
		}
		out = append(out, w)
	}
	return out
}

// caseBlock is where the program goes on when case i of a select is chosen, nil when it is not to be seen.
func caseBlock(s *ssa.Select, i int) *ssa.BasicBlock {
	for _, r := range *s.Referrers() {
		x, ok := r.(*ssa.Extract)
		if !ok || x.Index != 0 {
			continue
		}
		for _, u := range *x.Referrers() {
			b, ok := u.(*ssa.BinOp)
			if !ok || b.Op != token.EQL {
				continue
			}
			n, ok := b.Y.(*ssa.Const)
			if !ok || n.Int64() != int64(i) {
				continue
			}
			for _, u := range *b.Referrers() {
				if c, ok := u.(*ssa.If); ok {
					return c.Block().Succs[0]
				}
			}
		}
	}
	return nil
}

// crossing is what the acquire's own call waits for before it says no.
func (p *Program) crossing(call *ssa.Call, eff *summary.Effect, env bindings) crossing {
	inner := p.inner(call, eff)
	if inner == nil {
		return crossing{free: true}
	}
	if waitsItself(&inner.Call) {
		return crossing{waits: []wait{{at: inner}}}
	}
	env = env.call(inner.Parent(), call.Call.Args)
	below := p.crossing(inner, eff.Inner, env)
	no := p.assume(inner, eff.Inner, false, 1)
	out := p.through(after(inner), env, 1, func(e edge) bool { return no.live[e] })
	before := p.toCall(inner, env)
	return crossing{free: below.free && out.free && before.free, waits: append(append(below.waits, out.waits...), before.waits...)}
}

// toCall is what is waited for from a function's begin to a call in it.
func (p *Program) toCall(call *ssa.Call, env bindings) crossing {
	out := crossing{}
	walk(call.Parent().Blocks[0], func(b *ssa.BasicBlock) ([]*ssa.BasicBlock, bool) {
		for _, in := range b.Instrs {
			if in == ssa.Instruction(call) {
				out.free = true
				return nil, false
			}
			if c := p.crossed(in, env, 1); !c.free {
				out.waits = append(out.waits, c.waits...)
				return nil, false
			}
		}
		return b.Succs, false
	})
	return out
}

// keyGivers are the instructions in an acquire's function that make what the acquire asks for another: a
// range's next element, a receive, a counter. Contexts and what functions make anew, as tokens, do not count.
func (p *Program) keyGivers(call *ssa.Call) map[ssa.Instruction]bool {
	out := map[ssa.Instruction]bool{}
	seen := map[ssa.Value]bool{}
	args := call.Call.Args
	if call.Call.IsInvoke() {
		args = append([]ssa.Value{call.Call.Value}, args...)
	}
	if mc, ok := call.Call.Value.(*ssa.MakeClosure); ok {
		args = append(append([]ssa.Value(nil), args...), mc.Bindings...)
	}
	for _, x := range args {
		giver(x, seen, out)
	}
	return out
}

func giver(v ssa.Value, seen map[ssa.Value]bool, out map[ssa.Instruction]bool) {
	if v == nil || seen[v] || v.Type() != nil && v.Type().String() == "context.Context" {
		return
	}
	seen[v] = true
	in, ok := v.(ssa.Instruction)
	if !ok {
		return
	}
	switch v := v.(type) {
	case *ssa.Phi:
		if !sameEdges(v) {
			out[v] = true
		}
		return
	case *ssa.Next, *ssa.Select:
		out[in] = true
		return
	case *ssa.UnOp:
		if v.Op == token.ARROW {
			out[v] = true
			return
		}
	case *ssa.Alloc:
		stored(v, seen, out)
		return
	}
	for _, op := range in.Operands(nil) {
		if *op != nil {
			giver(*op, seen, out)
		}
	}
}

// stored follows what is put into a variable, its fields and its elements.
func stored(addr ssa.Value, seen map[ssa.Value]bool, out map[ssa.Instruction]bool) {
	for _, r := range *addr.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Addr == addr {
				giver(r.Val, seen, out)
			}
		case *ssa.FieldAddr:
			stored(r, seen, out)
		case *ssa.IndexAddr:
			if r.X == addr {
				stored(r, seen, out)
			}
		}
	}
}

// sameEdges reports whether a phi only chooses between what it had.
func sameEdges(v *ssa.Phi) bool {
	for _, e := range v.Edges {
		if e != v && e != v.Edges[0] {
			return false
		}
	}
	return true
}

// ends reports whether the program does not go on after a call.
func ends(in ssa.Instruction) bool {
	c, ok := in.(*ssa.Call)
	if !ok {
		return false
	}
	name := calledName(&c.Call)
	return name == "os.Exit" || name == "runtime.Goexit" || strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic") ||
		strings.HasPrefix(name, "(*log.Logger).Fatal") || strings.HasPrefix(name, "(*log.Logger).Panic")
}
