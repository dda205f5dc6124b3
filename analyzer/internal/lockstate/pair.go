package lockstate

import (
	"maps"
	"slices"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// A place is a field, "path.Type.field", in which a type keeps the connection of its lock. Methods
// of the type share the lock through it: one takes it, another frees it.

// Places are what one function does at places, beside the findings.
type Places struct {
	Pooled map[string]bool // the connection kept there goes back to its pool
	Given  map[string]bool // it is handed to code that is not followed, or closed for good
}

// placeOf is the place that a session is kept at; "" when it is kept nowhere by name.
func placeOf(t *term.Term) string {
	f := t
	if t.Op == term.Load {
		f = t.Args[0]
	}
	if (f.Op == term.FieldPtr || f.Op == term.Field) && f.Args[0].Root().Op == term.Param {
		typ := f.Type
		if f.Op == term.Field {
			typ = f.Args[0].Type
		}
		if typ != "" {
			return typ + "." + f.Str
		}
	}
	return ""
}

// places notes what a path does with connections that are kept at places.
func (j *judge) places(p *symexec.Path) {
	for _, e := range p.Effects {
		if e.Handle == nil {
			continue
		}
		place := placeOf(j.r.Session(e.Handle))
		if place == "" {
			continue
		}
		switch {
		case e.Op == summary.End && e.Ending == client.Return:
			j.at.Pooled[place] = true
		case e.Op == summary.End || e.Op == summary.Give:
			j.at.Given[place] = true
		}
	}
}

// keeps are the places at which a path leaves a session.
func keeps(p *symexec.Path, session string) []string {
	var out []string
	for _, st := range p.Stores {
		if st.Loc.Op == term.FieldPtr && st.Loc.Type != "" && st.Val.Root().Key() == session {
			out = append(out, st.Loc.Type+"."+st.Loc.Str)
		}
	}
	return out
}

// Pair compares what the methods of one type do to the lock that they share: a release that fits no
// acquire of the type, and an acquire for which the package has no release at all though it gives
// the connection back.
func Pair(found []*Finding, at []*Places) {
	acquires, releases := map[string][]*Finding{}, map[string][]*Finding{}
	pooled, given := map[string]bool{}, map[string]bool{}
	for _, p := range at {
		maps.Copy(pooled, p.Pooled)
		maps.Copy(given, p.Given)
	}
	for _, f := range found {
		if f.Call == nil || f.Handle == nil {
			continue
		}
		places := f.Kept
		if p := placeOf(f.session); p != "" {
			places = append(slices.Clone(places), p)
		}
		slices.Sort(places)
		for _, p := range slices.Compact(places) {
			if f.Call.Func.Op == sqltext.Acquire {
				acquires[p] = append(acquires[p], f)
			} else {
				releases[p] = append(releases[p], f)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(acquires)) {
		if len(releases[p]) > 0 {
			for _, r := range releases[p] {
				r.unfit(acquires[p])
			}
			continue
		}
		if !pooled[p] || given[p] {
			continue
		}
		for _, a := range acquires[p] {
			if len(a.Kept) > 0 && a.Call.Func.Session() {
				a.Verdicts |= Leaked
			}
		}
	}
}

// unfit marks a release that can belong to none of the acquires: their kind or number of keys differs.
func (f *Finding) unfit(acquires []*Finding) {
	if f.Call.Func.Op != sqltext.Release || f.Other != nil || f.ambig {
		return
	}
	for _, a := range acquires {
		if a.ambig {
			return
		}
		fa, fr := a.Call.Func, f.Call.Func
		if fa.System != fr.System || fa.Shared == fr.Shared && !fa.Xact && len(a.Call.Args) == len(f.Call.Args) {
			return
		}
	}
	f.Verdicts |= Mismatched
	f.Other = acquires[0]
}
