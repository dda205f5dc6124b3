package symexec

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Bounds on what a summary carries.
const (
	maxStores   = 48
	maxConsumes = 64
	maxFactSize = 24
	maxFacts    = 40
	// quietOutcomes is how many outcomes a function without effects may keep.
	quietOutcomes = 4
)

// Summarise turns the paths of a function into its summary.
func Summarise(run *Run) *summary.Summary {
	s := &summary.Summary{Truncated: run.Truncated}
	seen := map[string]bool{}
	for _, p := range run.Paths {
		o := outcomeOf(p)
		k := outcomeKey(o)
		if seen[k] {
			continue
		}
		seen[k] = true
		if len(s.Outcomes) == summary.MaxOutcomes {
			s.Truncated = true
			break
		}
		s.Outcomes = append(s.Outcomes, o)
	}
	s.Outcomes = quieten(s.Outcomes)
	for _, t := range inOrder(run.Consumed) {
		if consumedOutside(t) && len(s.Consumes) < maxConsumes {
			s.Consumes = append(s.Consumes, t)
		}
	}
	return s
}

// consumedOutside reports whether looking at t can mean something to a caller.
func consumedOutside(t *term.Term) bool {
	if aboutAnswer(t) {
		return true
	}
	x := t
	if x.Op == term.Bin {
		x = x.Args[0]
	}
	r := x.Root()
	return r.Op == term.Free || r.Op == term.Param && (x == r || x.Op == term.Field || ofParam(x)) || answersOf(x) && symbolic(x) ||
		x.Has(func(t *term.Term) bool { return t.Op == term.Call && t.Str == "invoke" })
}

// ofParam reports whether x is what a parameter points to, or a field of that.
func ofParam(x *term.Term) bool {
	if x.Op != term.Load {
		return false
	}
	p := x.Args[0]
	return p.Op == term.Param || p.Op == term.FieldPtr && p.Args[0].Op == term.Param
}

func outcomeOf(p *Path) *summary.Outcome {
	o := &summary.Outcome{Effects: p.Effects, Results: p.Results, Exits: p.Exits}
	o.Stores = visibleStores(p)
	for _, f := range p.Facts {
		if len(o.Facts) < maxFacts && f.Cond.Size() <= maxFactSize && telling(f.Cond, p.Results) {
			o.Facts = append(o.Facts, f)
		}
	}
	return o
}

// telling reports whether a caller can make something of a condition: it is about the caller's
// values, about an answer, about a callback's result, or about what is returned.
func telling(cond *term.Term, results []*term.Term) bool {
	if cond.Has(func(t *term.Term) bool {
		return t.Op == term.Param || t.Op == term.Free || t.Op == term.Sent || t.Op == term.Call && t.Str == "invoke"
	}) {
		return true
	}
	subject := cond
	if cond.Op == term.Bin {
		subject = cond.Args[0]
	}
	for _, r := range results {
		if r.Has(func(t *term.Term) bool { return term.Equal(t, subject) }) {
			return true
		}
	}
	return false
}

// visibleStores are the stores that the caller can see: to memory that was there before, and to
// fresh memory that is reachable from results or from such stores.
func visibleStores(p *Path) []summary.Store {
	live := map[string]bool{}
	mark := func(t *term.Term) {
		t.Walk(func(x *term.Term) bool {
			if x.Op == term.Cell {
				live[x.Key()] = true
			}
			return true
		})
	}
	for _, r := range p.Results {
		mark(r)
	}
	for _, e := range p.Effects {
		for _, a := range e.Args {
			mark(a)
		}
	}
	taken := map[int]bool{}
	for changed := true; changed; {
		changed = false
		for i, st := range p.Stores {
			if taken[i] || !outside(st.Loc) && !live[st.Loc.Root().Key()] {
				continue
			}
			taken[i], changed = true, true
			mark(st.Val)
		}
	}
	var out []summary.Store
	for i, st := range p.Stores {
		if taken[i] && len(out) < maxStores {
			out = append(out, st)
		}
	}
	return out
}

func outcomeKey(o *summary.Outcome) string {
	var b strings.Builder
	for _, e := range o.Effects {
		b.WriteString(e.Site)
		if e.Text != nil {
			b.WriteString(e.Text.Key())
		}
		b.WriteByte(';')
	}
	for _, r := range o.Results {
		b.WriteString(r.Key())
		b.WriteByte(',')
	}
	for _, f := range o.Facts {
		b.WriteString(f.Cond.Key())
		if f.Val {
			b.WriteByte('+')
		}
	}
	for _, st := range o.Stores {
		b.WriteString(st.Loc.Key() + "=" + st.Val.Key())
	}
	return b.String()
}

// quieten joins the outcomes of a function that does nothing to the outside, unless its few
// outcomes tell something of its arguments.
func quieten(outs []*summary.Outcome) []*summary.Outcome {
	if len(outs) < 2 {
		return outs
	}
	tells := false
	for _, o := range outs {
		if len(o.Effects) > 0 || o.Exits {
			return outs
		}
		tells = tells || len(o.Facts) > 0
	}
	if tells && len(outs) <= quietOutcomes {
		return outs
	}
	first := *outs[0]
	first.Facts = nil
	first.Results = append([]*term.Term(nil), first.Results...)
	for _, o := range outs[1:] {
		for i := range first.Results {
			if i < len(o.Results) {
				first.Results[i] = term.Join(first.Results[i], o.Results[i])
			}
		}
		first.Stores = append(first.Stores, o.Stores...)
	}
	return []*summary.Outcome{&first}
}
