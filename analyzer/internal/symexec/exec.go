// Package symexec follows the paths of a function over its SSA form. What a path does to the
// outside, such as sending a statement or closing a connection, it writes down in order, with the
// values that it knows in symbolic form. Paths that did the same to the outside are joined where
// they meet, so their number stays small; what is beyond the bounds is dropped, never guessed.
package symexec

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Bounds of the work on one function.
const (
	maxSteps  = 30000 // instructions, all paths together
	maxStates = 48    // states that wait at one block
	maxVisits = 2     // times that one path enters one block
	maxNested = 3     // function values that call one another: a recursive one ends here
)

// World answers what the executor needs to know of the program around a function.
type World interface {
	// Summary is what is known of a function of this package; nil when it is not followed.
	Summary(fn *ssa.Function) *summary.Summary
	// Imported is what is known of a function of another package.
	Imported(fn *types.Func) *summary.Summary
	// Closure is what is known of a function value's function, by its key.
	Closure(key string) *summary.Summary
	// Global is the value of a package variable that is set once.
	Global(name string) *term.Term
	// Method is the method that a named type, by its name, has; nil when there is none.
	Method(typeName, method string) *types.Func
	// Implementers are the methods that a call through an interface can mean.
	Implementers(iface types.Type, method string) []*types.Func
	// Implemented reports whether a type in view is what a call through an interface of the program can mean,
	// so that the interface's shape says nothing that its code does not say better.
	Implemented(iface types.Type) bool
	// Capped reports whether a parameter only ever gets pools of one connection.
	Capped(p *ssa.Parameter) bool
	// Inner is the field of a program's own type to which its methods pass statements on.
	Inner(typeName string) (field, fieldType string, ok bool)
	// Func is the SSA form of a function of this package.
	Func(fn *types.Func) *ssa.Function
	// Note remembers a function of another package that is used as a value.
	Note(fn *types.Func)
	// External is a function that was noted, by its full name.
	External(name string) *types.Func
	// Posn is a position for people, "file.go:12".
	Posn(pos token.Pos) string
}

// Path is one way through a function, from entry to return.
type Path struct {
	Effects []*summary.Effect
	Results []*term.Term
	Facts   []summary.Fact
	Stores  []summary.Store
	Exits   bool
	// Returned are the effects of function values that the path returns or keeps, each as it would
	// run after the function ended; of several outcomes of one, each is an entry.
	Returned []summary.Alt
}

// Run is what following a function gave.
type Run struct {
	Paths     []*Path
	Truncated bool
	// Consumed are the values that the function looks at, by key.
	Consumed map[string]*term.Term
}

type exec struct {
	w     World
	fn    *ssa.Function
	rpo   map[*ssa.BasicBlock]int
	wait  map[*ssa.BasicBlock][]*state
	steps int
	// endless: the function never returns, and what it does is what its loop does.
	endless bool
	// nested counts function values that are being followed inside one another.
	nested int
	run    *Run
	sels   map[string][]*term.Term // channels of a select, by site
	ends   []*state
	rets   map[*state][]*term.Term
}

// Follow follows fn, whose body must be built.
func Follow(w World, fn *ssa.Function) *Run {
	x := &exec{w: w, fn: fn, wait: map[*ssa.BasicBlock][]*state{}, run: &Run{Consumed: map[string]*term.Term{}},
		sels: map[string][]*term.Term{}, rets: map[*state][]*term.Term{}}
	if len(fn.Blocks) == 0 {
		return x.run
	}
	x.order()
	x.endless = x.returnless()
	s := new(state)
	for i, p := range fn.Params {
		typ := typeName(p.Type())
		if w.Capped(p) {
			typ = "" // a pool of one connection is as good as a connection: of unknown kind
		}
		s.regs.set(p, term.New(term.Param, strconv.Itoa(i), "", typ))
	}
	for i, f := range fn.FreeVars {
		s.regs.set(f, term.New(term.Free, strconv.Itoa(i), "", typeName(f.Type())))
	}
	x.wait[fn.Blocks[0]] = []*state{s}
	for {
		b := x.next()
		if b == nil {
			break
		}
		states := mergeAll(x.wait[b])
		delete(x.wait, b)
		if len(states) > maxStates {
			states, x.run.Truncated = states[:maxStates], true
		}
		for _, s := range states {
			n, _ := s.visits.get(b)
			s.visits.set(b, n+1)
			if n < maxVisits {
				x.block(s, b, 0)
			} else if x.endless {
				s.exits = true // it does the same again and again, and never returns
				x.end(s, nil)
			}
		}
		if x.steps > maxSteps {
			x.run.Truncated = true
			break
		}
	}
	for _, s := range x.ends {
		x.run.Paths = append(x.run.Paths, x.path(s))
	}
	return x.run
}

// returnless reports whether the function has no way out.
func (x *exec) returnless() bool {
	for b := range x.rpo {
		switch b.Instrs[len(b.Instrs)-1].(type) {
		case *ssa.Return, *ssa.Panic:
			return false
		}
	}
	return true
}

// order numbers the blocks in reverse postorder, so that paths meet before they go on.
func (x *exec) order() {
	x.rpo = map[*ssa.BasicBlock]int{}
	var post []*ssa.BasicBlock
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		seen[b] = true
		for _, c := range b.Succs {
			if !seen[c] {
				visit(c)
			}
		}
		post = append(post, b)
	}
	visit(x.fn.Blocks[0])
	for i, b := range post {
		x.rpo[b] = len(post) - i
	}
}

func (x *exec) next() *ssa.BasicBlock {
	var best *ssa.BasicBlock
	for b := range x.wait {
		if best == nil || x.rpo[b] < x.rpo[best] {
			best = b
		}
	}
	return best
}

func (x *exec) path(s *state) *Path {
	p := &Path{Effects: s.effects(), Results: x.rets[s], Exits: s.exits, Facts: inOrder(s.facts.all()), Stores: inOrder(s.mem.at.all())}
	p.Returned = append(x.returned(s, p), x.cleanedUp(s)...)
	return p
}

// returned runs the function values that leave the function by its results or in memory that they
// lead to, as they would run later.
func (x *exec) returned(s *state, p *Path) []summary.Alt {
	var fns []*term.Term
	seen := map[string]bool{}
	below := sync.OnceValue(func() map[string][]*term.Term { return storedBelow(p.Stores) })
	var look func(*term.Term)
	look = func(t *term.Term) {
		t.Walk(func(v *term.Term) bool {
			if seen[v.Key()] {
				return false
			}
			switch v.Op {
			case term.Closure:
				seen[v.Key()] = true
				fns = append(fns, v)
			case term.Cell:
				seen[v.Key()] = true
				for _, kept := range below()[v.Key()] {
					look(kept)
				}
			}
			return true
		})
	}
	for _, r := range p.Results {
		look(r)
	}
	for _, st := range p.Stores {
		if outside(st.Loc) {
			look(st.Val)
		}
	}
	var out []summary.Alt
	for _, fn := range fns {
		if x.inside(fn) {
			out = append(out, x.later(s, fn, nil, &call{site: "r" + strconv.Itoa(len(out))}, summary.InReturned)...)
		}
	}
	return out
}

// storedBelow are the values that were stored anywhere below a root, by its key.
func storedBelow(stores []summary.Store) map[string][]*term.Term {
	out := map[string][]*term.Term{}
	for _, st := range stores {
		k := st.Loc.Root().Key()
		out[k] = append(out[k], st.Val)
	}
	return out
}

// cleanedUp runs the registered cleanups, last first: one list of effects for each way through them.
func (x *exec) cleanedUp(s *state) []summary.Alt {
	if len(s.cleanups) == 0 {
		return nil
	}
	in := s.clone()
	in.trace, in.defers, in.cleanup = nil, nil, summary.InCleanup
	states := []*state{in}
	for _, c := range slices.Backward(s.cleanups) {
		var next []*state
		for _, st := range states {
			st.cleanupSite = c.site
			next = append(next, x.dynamic(st, c, c.fn, nil)...)
		}
		if states = mergeAll(next); len(states) > summary.MaxOutcomes {
			states = states[:summary.MaxOutcomes]
		}
	}
	return alts(s, states)
}

// alts are what the states did since s, each with what it knows besides.
func alts(s *state, states []*state) []summary.Alt {
	var out []summary.Alt
	for _, o := range states {
		effects := o.effects()
		if len(effects) == 0 || len(out) == summary.MaxOutcomes {
			continue
		}
		alt := summary.Alt{Effects: effects}
		for _, f := range inOrder(o.facts.all()) {
			if _, before := s.facts.get(f.Cond.Key()); !before {
				alt.Facts = append(alt.Facts, f)
			}
		}
		out = append(out, alt)
	}
	return out
}

// later gives the effects that the function value fn would have if it ran now: one list for each
// of its outcomes.
func (x *exec) later(s *state, fn *term.Term, args []*term.Term, at *call, cl summary.Cleanup) []summary.Alt {
	sum, all, frees := x.target(fn, args)
	if sum.Silent() {
		return nil
	}
	in := s.clone()
	in.trace, in.defers, in.cleanup, in.cleanupSite = nil, nil, cl, at.site
	c := &call{site: at.site, pos: at.pos, name: at.name, args: all, lexical: x.inside(fn)}
	return alts(s, x.apply(in, c, sum, all, frees))
}

// block runs s from instruction i of b on.
func (x *exec) block(s *state, b *ssa.BasicBlock, i int) {
	for ; i < len(b.Instrs); i++ {
		if x.steps++; x.steps > maxSteps || s.trace != nil && s.trace.n > summary.MaxEffects {
			x.run.Truncated = true
			return
		}
		switch in := b.Instrs[i].(type) {
		case *ssa.If:
			x.branch(s, b, in)
			return
		case *ssa.Jump:
			x.edge(s, b, b.Succs[0])
			return
		case *ssa.Return:
			x.finish(s, in)
			return
		case *ssa.Panic:
			x.consume(s, x.val(s, in.X))
			return
		case *ssa.RunDefers:
			x.fork(x.runDefers(s), b, i+1)
			return
		case *ssa.Call:
			outs := x.call(s, x.prepare(s, &in.Call, in, x.site(s, b, i)))
			if len(outs) == 1 && outs[0] == s {
				continue
			}
			x.fork(outs, b, i+1)
			return
		default:
			x.instr(s, in, x.site(s, b, i))
		}
	}
}

func (x *exec) fork(outs []*state, b *ssa.BasicBlock, i int) {
	outs = mergeAll(outs)
	if len(outs) > maxStates {
		outs, x.run.Truncated = outs[:maxStates], true
	}
	for _, o := range outs {
		x.block(o, b, i)
	}
}

// site names an instruction's execution on this path.
func (x *exec) site(s *state, b *ssa.BasicBlock, i int) string {
	site := strconv.Itoa(b.Index) + "." + strconv.Itoa(i)
	if n, _ := s.visits.get(b); n > 1 {
		site += "#" + strconv.Itoa(n)
	}
	return site
}

// Base is a site without the rounds of the loops around it.
func Base(site string) string {
	for {
		i := strings.IndexByte(site, '#')
		if i < 0 {
			return site
		}
		j := i + 1
		for j < len(site) && site[j] >= '0' && site[j] <= '9' {
			j++
		}
		site = site[:i] + site[j:]
	}
}

// edge moves s to block to: phis take their value from the block it comes from.
func (x *exec) edge(s *state, from, to *ssa.BasicBlock) {
	pred := -1
	for i, p := range to.Preds {
		if p == from {
			pred = i
		}
	}
	vals := map[*ssa.Phi]*term.Term{}
	for _, in := range to.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		if pred >= 0 {
			vals[phi] = x.val(s, phi.Edges[pred])
		}
	}
	for phi, v := range vals {
		s.regs.set(phi, v)
	}
	x.wait[to] = append(x.wait[to], s)
}

func (x *exec) branch(s *state, b *ssa.BasicBlock, in *ssa.If) {
	cond := x.val(s, in.Cond)
	x.consume(s, cond)
	switch s.eval(cond) {
	case yes:
		x.take(s, b, cond, true)
	case no:
		x.take(s, b, cond, false)
	default:
		t := s.clone()
		x.take(s, b, cond, true)
		x.take(t, b, cond, false)
	}
}

func (x *exec) take(s *state, b *ssa.BasicBlock, cond *term.Term, val bool) {
	if !s.assume(cond, val) {
		return
	}
	x.selected(s, cond, val)
	if val {
		x.edge(s, b, b.Succs[0])
	} else {
		x.edge(s, b, b.Succs[1])
	}
}

// selected notes that a context is done when the case that waits for it was chosen.
func (x *exec) selected(s *state, cond *term.Term, val bool) {
	c, neg := normal(cond)
	if c.Op != term.Bin || c.Str != "==" || val == neg {
		return
	}
	chans := x.sels[c.Args[0].Site]
	n, ok := c.Args[1].IntVal()
	k, err := strconv.Atoi(n)
	if c.Args[0].Op != term.Opaque || !ok || err != nil || k >= len(chans) {
		return
	}
	x.received(s, chans[k], c.Args[0].Site)
}

// received notes that something came from channel ch.
func (x *exec) received(s *state, ch *term.Term, site string) {
	if ch != nil && ch.Op == term.Call && ch.Str == ctxDone {
		s.emit(&summary.Effect{Op: summary.Done, Site: site, Ctx: ch.Args[0]})
	}
}

func (x *exec) finish(s *state, in *ssa.Return) {
	res := make([]*term.Term, len(in.Results))
	for i, r := range in.Results {
		res[i] = x.val(s, r)
	}
	x.end(s, res)
}

func (x *exec) end(s *state, res []*term.Term) {
	if len(x.ends) >= 4*maxStates {
		x.run.Truncated = true
		return
	}
	x.rets[s] = res
	x.ends = append(x.ends, s)
}

// val is the term of an SSA value in s.
func (x *exec) val(s *state, v ssa.Value) *term.Term {
	if t, ok := s.regs.get(v); ok {
		return t
	}
	switch v := v.(type) {
	case *ssa.Const:
		return constTerm(v)
	case *ssa.Global:
		return term.New(term.Global, globalName(v), "", typeName(v.Type()))
	case *ssa.Function:
		return x.funcTerm(v)
	case *ssa.Builtin:
		return term.New(term.Func, v.Name(), "", "")
	}
	return term.Unknown("v:"+v.Name(), typeName(v.Type()))
}

func globalName(g *ssa.Global) string {
	if g.Pkg != nil {
		return g.Pkg.Pkg.Path() + "." + g.Name()
	}
	return g.Name()
}

func (x *exec) funcTerm(fn *ssa.Function) *term.Term {
	if obj, ok := fn.Object().(*types.Func); ok && len(fn.Blocks) == 0 {
		x.w.Note(obj)
	}
	return term.New(term.Func, FuncKey(fn), "", "")
}

// FuncKey names a function for terms: its own name, that of its generic form for an instance.
func FuncKey(fn *ssa.Function) string {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	return fn.String()
}

func constTerm(c *ssa.Const) *term.Term {
	typ := typeName(c.Type())
	if c.Value == nil {
		if isNilable(c.Type()) {
			return term.New(term.Const, "nil", "", typ)
		}
		return term.New(term.Const, "o:zero "+typ, "", typ)
	}
	switch c.Value.Kind() {
	case constant.String:
		return term.New(term.Const, "s:"+constant.StringVal(c.Value), "", typ)
	case constant.Bool:
		return term.Bool(constant.BoolVal(c.Value))
	case constant.Int:
		return term.New(term.Const, "i:"+c.Value.ExactString(), "", typ)
	}
	return term.New(term.Const, "o:"+c.Value.ExactString(), "", typ)
}

func isNilable(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return true
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}

// zero is the value of fresh memory of type t, nil when it has no constant for it.
func zero(t types.Type) *term.Term {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return term.Bool(false)
		case u.Info()&types.IsString != 0:
			return term.Str("")
		case u.Info()&types.IsInteger != 0:
			return term.Int("0")
		}
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return term.Nil()
	}
	return nil
}
