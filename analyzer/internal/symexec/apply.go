package symexec

import (
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// binding fills a summary's parameters in with a caller's values.
type binding struct {
	s     *state
	args  []*term.Term
	frees []*term.Term
	site  string
}

// term is t, a term of the callee, in the caller.
func (b *binding) term(t *term.Term) *term.Term {
	if t == nil {
		return nil
	}
	return t.Map(func(n *term.Term) *term.Term {
		switch n.Op {
		case term.Param:
			if i := n.Index(); i >= 0 && i < len(b.args) {
				return b.args[i]
			}
			return term.Unknown(b.site+"/p"+n.Str, n.Type)
		case term.Free:
			if i := n.Index(); i >= 0 && i < len(b.frees) {
				return b.frees[i]
			}
			return term.Unknown(b.site+"/f"+n.Str, n.Type)
		case term.Load:
			return b.s.load(n.Args[0], n.Type, nil)
		case term.Field:
			return b.s.field(n.Args[0], n.Str, n.Type)
		case term.Concat:
			return concat(n.Args...)
		case term.Call:
			if n.Str == "fmt.Sprintf" {
				return Format(n.Str, n.Args)
			}
			n = n.Under(b.site)
			if res, ok := b.s.aliases.get(n.Key()); ok && len(res) == 1 {
				return res[0]
			}
			return n
		case term.Result:
			if res, ok := b.s.aliases.get(n.Args[0].Key()); ok && n.Index() < len(res) {
				return res[n.Index()]
			}
			return n
		}
		return n.Under(b.site)
	})
}

func (b *binding) terms(ts []*term.Term) []*term.Term {
	if ts == nil {
		return nil
	}
	out := make([]*term.Term, len(ts))
	for i, t := range ts {
		out[i] = b.term(t)
	}
	return out
}

// apply runs the outcomes of a callee's summary in s.
func (x *exec) apply(s *state, c *call, sum *summary.Summary, args, frees []*term.Term) []*state {
	var outs []*state
	for _, o := range sum.Outcomes {
		outs = append(outs, x.outcome(s.clone(), c, o, args, frees)...)
	}
	if len(outs) == 0 && len(sum.Outcomes) == 0 {
		return x.opaque(s, c, "silent")
	}
	for _, o := range outs {
		x.consumes(o, sum, &binding{s: o, args: args, frees: frees, site: c.site})
	}
	outs = mergeAll(outs)
	if len(outs) > maxStates {
		outs, x.run.Truncated = outs[:maxStates], true
	}
	return outs
}

// consumes notes what a callee looked at.
func (x *exec) consumes(s *state, sum *summary.Summary, b *binding) {
	for _, t := range sum.Consumes {
		x.consume(s, b.term(t))
	}
}

func (x *exec) outcome(s *state, c *call, o *summary.Outcome, args, frees []*term.Term) []*state {
	states := []*state{s}
	x.steps += 1 + len(o.Effects) + len(o.Stores)
	if x.steps > maxSteps {
		x.run.Truncated = true
		return nil
	}
	for _, e := range o.Effects {
		var next []*state
		for _, s := range states {
			next = append(next, x.effect(s, c, e, &binding{s: s, args: args, frees: frees, site: c.site})...)
		}
		states = mergeAll(next)
		if len(states) > maxStates {
			states, x.run.Truncated = states[:maxStates], true
		}
	}
	var outs []*state
	for _, s := range states {
		b := &binding{s: s, args: args, frees: frees, site: c.site}
		if !x.presuppose(s, b, o.Facts) {
			continue
		}
		x.stores(s, b, o.Stores)
		if o.Exits {
			s.exits = true
			x.end(s, nil)
			continue
		}
		x.ret(s, c, b.terms(o.Results))
		outs = append(outs, s)
	}
	return outs
}

// stores does what an outcome stores: all of it before function values among it are looked at, as
// one place may lead to another.
func (x *exec) stores(s *state, b *binding, stores []summary.Store) {
	locs, vals := make([]*term.Term, len(stores)), make([]*term.Term, len(stores))
	for i, st := range stores {
		locs[i], vals[i] = b.term(st.Loc), b.term(st.Val)
	}
	for i := range locs {
		s.store(locs[i], vals[i])
	}
	for i := range locs {
		x.left(s, locs[i], vals[i], b.site+"s"+strconv.Itoa(i))
	}
}

// presuppose assumes an outcome's facts; false when they cannot hold.
func (x *exec) presuppose(s *state, b *binding, facts []summary.Fact) bool {
	for _, f := range facts {
		if !s.assume(b.term(f.Cond), f.Val) {
			return false
		}
	}
	return true
}

// effect adds a callee's effect to the caller's trace.
func (x *exec) effect(s *state, c *call, e *summary.Effect, b *binding) []*state {
	if e.Op == summary.Invoke {
		if outs := x.callback(s, c, e, b); outs != nil {
			return outs
		}
	}
	n := x.rebase(c, e, b)
	if n == nil {
		return []*state{s}
	}
	if n.Op == summary.Cap || n.Op == summary.Escape || n.Op != summary.Invoke || symbolic(n.Fn) {
		s.emit(n)
	}
	return []*state{s}
}

// rebase is a callee's effect in the caller's terms; nil when it comes from too deep.
func (x *exec) rebase(c *call, e *summary.Effect, b *binding) *summary.Effect {
	n := *e
	n.Site = b.site + "/" + e.Site
	n.Handle, n.Text, n.Ctx, n.Fn, n.Made = b.term(e.Handle), b.term(e.Text), b.term(e.Ctx), b.term(e.Fn), b.term(e.Made)
	n.Args = b.terms(e.Args)
	n.Handle = x.inner(b.s, n.Handle)
	if e.Op == summary.Send {
		if n.Ctx == nil { // a handle given to the callee may carry a context
			n.Handle, n.Ctx = detach(n.Handle)
		}
		n.Args = x.statementArgs(b.s, n.Args, 0) // a forwarded list may be known now
	}
	if c.lexical {
		if n.CleanupSite != "" {
			n.CleanupSite = b.site + "/" + e.CleanupSite
		}
	} else {
		if len(e.Steps) >= summary.MaxDepth {
			return nil
		}
		n.Inner = e
		n.Steps = append(x.step(c), e.Steps...)
		if e.Op != summary.Escape {
			n.Cleanup, n.CleanupSite = summary.NoCleanup, ""
		}
		n.Dropped = drops(c)
	}
	n.Judged = nil
	if e.Cmd != nil {
		n.Cmd = b.command(e.Cmd)
		n.Cmd.Group, n.Cmd.Atomic = group(n.Handle)
	}
	if e.Batch != nil {
		n.Batch = make([]*summary.Effect, len(e.Batch))
		for i, q := range e.Batch {
			n.Batch[i] = x.rebase(c, q, b)
			if n.Batch[i] == nil {
				return nil
			}
		}
	}
	if e.Alts != nil {
		n.Alts = make([]summary.Alt, 0, len(e.Alts))
		for _, alt := range e.Alts {
			var effects []*summary.Effect
			for _, a := range alt.Effects {
				if r := x.rebase(c, a, b); r != nil {
					if !c.lexical { // what runs when is the callee's affair
						r.Cleanup, r.CleanupSite = a.Cleanup, b.site+"/"+a.CleanupSite
					}
					effects = append(effects, r)
				}
			}
			facts := make([]summary.Fact, len(alt.Facts))
			for i, f := range alt.Facts {
				facts[i] = summary.Fact{Cond: b.term(f.Cond), Val: f.Val}
			}
			n.Alts = append(n.Alts, summary.Alt{Effects: effects, Facts: facts})
		}
	}
	return &n
}

// inner looks through a program's own type that passes statements on to a field of its own.
func (x *exec) inner(s *state, h *term.Term) *term.Term {
	for range maxNested {
		if h == nil || h.Type == "" {
			return h
		}
		if _, lib := client.TypeOf(h.Type); lib {
			return h
		}
		field, typ, ok := x.w.Inner(h.Type)
		if !ok {
			return h
		}
		if h.Op == term.Load || h.Op == term.Field { // a struct by value
			h = s.field(h, field, typ)
		} else {
			h = s.load(term.New(term.FieldPtr, field, "", h.Type, h), typ, nil)
		}
	}
	return h
}

// callback runs a function argument where the callee calls it.
func (x *exec) callback(s *state, c *call, e *summary.Effect, b *binding) []*state {
	fn, args := b.term(e.Fn), b.terms(e.Args)
	made := b.term(e.Made)
	sum, all, frees := x.target(fn, args)
	if m, obj := x.boundRow(fn); m != nil {
		var res []*term.Term
		d := &call{site: b.site + "/" + e.Site, pos: c.pos, name: c.name, sig: obj.Signature(), results: &res,
			args: append([]*term.Term{fn.Args[0]}, args...)}
		outs := x.row(s, d, m, obj)
		for _, o := range outs {
			o.aliases.set(made.Key(), res)
		}
		return outs
	}
	if sum == nil || x.nested >= maxNested {
		x.consumeAll(s, args)
		return nil
	}
	x.nested++
	defer func() { x.nested-- }()
	d := &call{site: b.site + "/" + e.Site, lexical: x.inside(fn), pos: c.pos, name: c.name, args: all}
	var outs []*state
	for _, o := range sum.Outcomes {
		for _, st := range x.outcome(s.clone(), d, o, all, frees) {
			ob := &binding{s: st, args: all, frees: frees, site: d.site}
			st.aliases.set(made.Key(), ob.terms(o.Results))
			outs = append(outs, st)
		}
	}
	for _, o := range outs {
		x.consumes(o, sum, &binding{s: o, args: all, frees: frees, site: d.site})
	}
	if len(outs) == 0 {
		return nil
	}
	return mergeAll(outs)
}

// within runs the function value fn with a handle made for it, as a library's callback does.
func (x *exec) within(s *state, c *call, m *client.Method, fn, made *term.Term) (outs []*state, followed bool) {
	sum, all, frees := x.target(fn, nil)
	if sum == nil {
		if symbolic(fn) {
			args := make([]*term.Term, m.FnArg+1)
			for i := range args {
				args[i] = term.Unknown(c.site+"/a", "")
			}
			args[m.FnArg] = made
			s.emit(&summary.Effect{Op: summary.Invoke, Site: c.site + "i", Steps: x.step(c), Fn: fn, Args: args,
				Made: term.New(term.Call, "invoke", c.site+"i", "")})
		}
		return []*state{s}, false
	}
	for len(all) <= m.FnArg {
		all = append(all, term.Unknown(c.site+"/a", ""))
	}
	if fn.Op == term.Bound {
		if len(all) < m.FnArg+2 {
			all = append(all, nil)
		}
		all[m.FnArg+1] = made
	} else {
		all[m.FnArg] = made
	}
	// A context parameter before the handle (bun's RunInTx) comes from the caller's.
	if m.FnArg == 1 && m.Ctx >= 0 && m.Ctx+1 < len(c.args) {
		all[len(all)-2] = c.args[m.Ctx+1]
	}
	d := &call{site: c.site + "/cb", lexical: x.inside(fn), pos: c.pos, name: c.name, args: all}
	return x.apply(s, d, sum, all, frees), true
}

// drops reports whether a call's results of type error and bool, of which there are some, are all
// left alone.
func drops(c *call) bool {
	if c.common == nil {
		return false
	}
	results := c.common.Signature().Results()
	signals := false
	for i := range results.Len() {
		switch typeName(results.At(i).Type()) {
		case "error", "bool":
			signals = true
			if used(c.value, i, results.Len()) {
				return false
			}
		}
	}
	return signals
}

// used reports whether result i of n of the call v is used; v is nil for defer and go.
func used(v ssa.Value, i, n int) bool {
	if v == nil || v.Referrers() == nil {
		return false
	}
	for _, r := range *v.Referrers() {
		if _, ok := r.(*ssa.DebugRef); ok {
			continue
		}
		e, ok := r.(*ssa.Extract)
		if n == 1 || !ok {
			return true
		}
		if e.Index == i && e.Referrers() != nil && len(*e.Referrers()) > 0 {
			return true
		}
	}
	return false
}
