package symexec

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// state is what holds at one point of one path, or of several that did the same to the outside.
type state struct {
	regs    overlay[ssa.Value, *term.Term]
	tuples  overlay[ssa.Value, []*term.Term]
	mem     memory
	facts   overlay[string, summary.Fact]
	telling uint64                        // what the facts are that keep states apart
	aliases overlay[string, []*term.Term] // results of calls of function values, by the call's key
	visits  overlay[*ssa.BasicBlock, int]
	trace   *node
	defers  *deferred
	// cleanups are the calls to make when the function's caller is done, as testing's Cleanup does.
	cleanups []*call

	cleanup     summary.Cleanup
	cleanupSite string
	exits       bool
	// Memory can lead back to itself, and by several ways: depth counts the loads that are under way
	// through one another, work all that the outermost one has led to.
	depth, work int
}

// Bounds of one load.
const (
	maxLoads = 12
	maxWork  = 256
)

// node is the last effect of a trace.
type node struct {
	parent *node
	effect *summary.Effect
	key    uint64
	n      int
}

// deferred is the last deferred call of a stack.
type deferred struct {
	parent *deferred
	call   *call
	key    uint64
}

// clone is a state of its own that is as s is now.
func (s *state) clone() *state {
	c := *s
	c.regs, c.tuples, c.mem, c.facts = s.regs.copy(), s.tuples.copy(), s.mem.copy(), s.facts.copy()
	c.aliases, c.visits = s.aliases.copy(), s.visits.copy()
	c.cleanups = slices.Clip(s.cleanups)
	return &c
}

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// emit appends an effect to the trace.
func (s *state) emit(e *summary.Effect) {
	if e.Cleanup == summary.NoCleanup && s.cleanup != summary.NoCleanup {
		e.Cleanup, e.CleanupSite = s.cleanup, s.cleanupSite
	}
	n := &node{parent: s.trace, effect: e, n: 1}
	var up uint64
	if s.trace != nil {
		n.n, up = s.trace.n+1, s.trace.key
	}
	parts := []string{strconv.FormatUint(up, 36), strconv.Itoa(int(e.Op)), e.Site}
	for _, t := range []*term.Term{e.Handle, e.Text, e.Ctx, e.Fn} {
		if t != nil {
			parts = append(parts, t.Key())
		}
	}
	if e.Cmd != nil {
		parts = append(parts, e.Cmd.Name)
		for _, k := range e.Cmd.Keys {
			parts = append(parts, k.Key())
		}
	}
	n.key = hash(parts...)
	s.trace = n
}

// isDone reports whether the context is done on this path.
func (s *state) isDone(ctx *term.Term) bool {
	for n := s.trace; n != nil; n = n.parent {
		if n.effect.Op == summary.Done && term.Equal(n.effect.Ctx, ctx) {
			return true
		}
	}
	return false
}

func (s *state) effects() []*summary.Effect {
	if s.trace == nil {
		return nil
	}
	out := make([]*summary.Effect, s.trace.n)
	for n := s.trace; n != nil; n = n.parent {
		out[n.n-1] = n.effect
	}
	return out
}

// plainOn counts the plain statements on a handle since something else happened.
func (s *state) plainOn(handle *term.Term) int {
	n := 0
	for t := s.trace; t != nil && t.effect.Op == summary.Send && plain(t.effect) && term.Equal(t.effect.Handle, handle); t = t.parent {
		n++
	}
	return n
}

// push registers a deferred call.
func (s *state) push(c *call) {
	d := &deferred{parent: s.defers, call: c}
	var up uint64
	if s.defers != nil {
		up = s.defers.key
	}
	d.key = hash(strconv.FormatUint(up, 36), c.site)
	s.defers = d
}

// stateKey tells states apart that must not be merged: they did different things to the outside, or
// know different things about an answer or a handle.
type stateKey struct{ trace, defers, telling uint64 }

func (s *state) key() stateKey {
	k := stateKey{telling: s.telling}
	if s.trace != nil {
		k.trace = s.trace.key
	}
	if s.defers != nil {
		k.defers = s.defers.key
	}
	return k
}

// learn adds a fact that is not known yet.
func (s *state) learn(f summary.Fact) {
	k := f.Cond.Key()
	s.facts.set(k, f)
	if aboutAnswer(f.Cond) || aboutHandle(f.Cond) {
		s.telling ^= hash(k, strconv.FormatBool(f.Val)) // in whatever order they are learnt
	}
}

func aboutAnswer(t *term.Term) bool {
	return t.Has(func(t *term.Term) bool { return t.Op == term.Sent })
}

// aboutHandle reports whether a condition tells a handle that was opened from one that was not.
func aboutHandle(t *term.Term) bool {
	return t.Has(func(t *term.Term) bool { return t.Op == term.ErrOf && isMade(t.Args[0]) })
}

// merge joins o into s, which has the same key: values become alternatives, facts that differ are forgotten.
func (s *state) merge(o *state) {
	for k := range apart(&s.regs, &o.regs) {
		v, _ := s.regs.get(k)
		w, _ := o.regs.get(k)
		s.regs.set(k, term.Join(v, w))
	}
	for k := range apart(&s.tuples, &o.tuples) {
		v, inS := s.tuples.get(k)
		w, inO := o.tuples.get(k)
		if !inO {
			continue
		}
		if inS && len(v) == len(w) {
			w = slices.Clone(w)
			for i := range w {
				w[i] = term.Join(v[i], w[i])
			}
		}
		s.tuples.set(k, w)
	}
	s.mem.merge(&o.mem)
	var differ []string
	for k := range apart(&s.facts, &o.facts) {
		f, inS := s.facts.get(k)
		g, inO := o.facts.get(k)
		if inS && (!inO || f.Val != g.Val) {
			differ = append(differ, k)
		}
	}
	s.facts.remove(differ)
	for k := range apart(&s.aliases, &o.aliases) {
		if v, ok := o.aliases.get(k); ok {
			s.aliases.set(k, v)
		}
	}
	for b := range apart(&s.visits, &o.visits) {
		n, _ := s.visits.get(b)
		m, _ := o.visits.get(b)
		s.visits.set(b, max(n, m))
	}
}

// mergeAll merges states with equal keys, keeping their order.
func mergeAll(states []*state) []*state {
	if len(states) < 2 {
		return states
	}
	byKey := map[stateKey]*state{}
	out := states[:0:0]
	for _, s := range states {
		k := s.key()
		if have, ok := byKey[k]; ok {
			have.merge(s)
			continue
		}
		byKey[k] = s
		out = append(out, s)
	}
	return out
}

// load is what ptr points at; typ is its static type's name, zero what fresh memory holds.
func (s *state) load(ptr *term.Term, typ string, zero *term.Term) *term.Term {
	if s.depth == 0 {
		s.work = 0
	}
	s.depth++
	defer func() { s.depth-- }()
	if s.work++; s.depth > maxLoads || s.work > maxWork {
		return term.Unknown("deep", typ)
	}
	if ptr.Op == term.Phi {
		var out *term.Term
		for _, p := range ptr.Args {
			out = term.Join(out, s.load(p, typ, zero))
		}
		return out
	}
	if e, ok := s.mem.get(ptr.Key()); ok {
		return e.Val.WithType(orType(e.Val.Type, typ))
	}
	switch ptr.Op {
	case term.FieldPtr:
		if e, ok := s.mem.get(ptr.Args[0].Key()); ok { // the whole struct was stored
			return s.field(e.Val, ptr.Str, typ)
		}
		if ptr.Args[0].Op == term.Sent { // gorm's result: db.Error, db.RowsAffected
			switch ptr.Str {
			case "Error":
				return term.New(term.ErrOf, "", "", "error", ptr.Args[0])
			case "RowsAffected":
				return term.New(term.Count, "", "", "", ptr.Args[0])
			}
		}
	case term.ElemPtr:
		if v := s.elements(ptr, typ); v != nil {
			return v
		}
	}
	if zero != nil && ptr.Root().Op == term.Cell {
		return zero
	}
	return term.New(term.Load, "", "", typ, ptr)
}

// orType prefers the dynamic type that a value already carries over its static one.
func orType(have, static string) string { return cmp.Or(have, static) }

// elements is what element ptr holds: any element when the index is not constant.
func (s *state) elements(ptr *term.Term, typ string) *term.Term {
	if ptr.Str != "" {
		return nil
	}
	var out *term.Term
	for _, e := range s.mem.parts(ptr.Args[0], term.ElemPtr) {
		if e.Loc.Str != batchElem {
			out = term.Join(out, e.Val)
		}
	}
	return out
}

// field is field name of the struct value v.
func (s *state) field(v *term.Term, name, typ string) *term.Term {
	switch v.Op {
	case term.Phi:
		var out *term.Term
		for _, a := range v.Args {
			out = term.Join(out, s.field(a, name, typ))
		}
		return out
	case term.Load:
		return s.load(term.New(term.FieldPtr, name, "", v.Type, v.Args[0]), typ, nil)
	}
	return term.New(term.Field, name, "", typ, v)
}

// store puts val at ptr. A pointer with alternatives is written weakly.
func (s *state) store(ptr, val *term.Term) {
	if ptr.Op == term.Phi {
		for _, p := range ptr.Args {
			s.put(p, term.Join(val, s.load(p, val.Type, nil)))
		}
		return
	}
	s.put(ptr, val)
}

func (s *state) put(ptr, val *term.Term) {
	// Copying a struct copies what is known of its fields.
	if val.Op == term.Load {
		fields := s.mem.parts(val.Args[0], term.FieldPtr)
		for _, e := range fields {
			loc := term.New(term.FieldPtr, e.Loc.Str, "", e.Loc.Type, ptr)
			s.mem.put(summary.Store{Loc: loc, Val: e.Val})
		}
		if len(fields) > 0 {
			return
		}
	}
	s.mem.put(summary.Store{Loc: ptr, Val: val})
}
