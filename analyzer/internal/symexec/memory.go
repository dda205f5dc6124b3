package symexec

import (
	"slices"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// memory is what is known of what locations hold.
type memory struct {
	at     overlay[string, summary.Store] // by the location's key
	within overlay[string, *inner]        // by the key of a struct's, array's or map's location
}

// inner is a field or an element that something was written to, by its key, and those before it.
type inner struct {
	key  string
	next *inner
}

func (m *memory) copy() memory { return memory{at: m.at.copy(), within: m.within.copy()} }

// get is what was written to the location with a key.
func (m *memory) get(key string) (summary.Store, bool) { return m.at.get(key) }

// put writes.
func (m *memory) put(st summary.Store) {
	k := st.Loc.Key()
	if _, known := m.at.get(k); !known {
		loc := st.Loc
		for loc.Op == term.As { // has the same key
			loc = loc.Args[0]
		}
		if loc.Op == term.FieldPtr || loc.Op == term.ElemPtr {
			whole := loc.Args[0].Key()
			next, _ := m.within.get(whole)
			m.within.set(whole, &inner{k, next})
		}
	}
	m.at.set(k, st)
}

// parts are what was written to fields or elements of what base points to, in a fixed order.
func (m *memory) parts(base *term.Term, op term.Op) []summary.Store {
	var out []summary.Store
	in, _ := m.within.get(base.Key())
	for ; in != nil; in = in.next {
		if e, _ := m.at.get(in.key); e.Loc.Op == op {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b summary.Store) int { return strings.Compare(a.Loc.Str, b.Loc.Str) })
	return out
}

// merge joins o into m.
func (m *memory) merge(o *memory) {
	for k := range apart(&m.at, &o.at) {
		a, inM := m.at.get(k)
		b, inO := o.at.get(k)
		switch {
		case inM && inO:
			m.put(summary.Store{Loc: b.Loc, Val: term.Join(a.Val, b.Val)})
		case inM:
			m.put(orBefore(a))
		default:
			m.put(orBefore(b))
		}
	}
}

// orBefore is what a location holds when only one of two paths wrote to it: on the other, one that was there
// kept what it had when the function began.
func orBefore(st summary.Store) summary.Store {
	if outside(st.Loc) {
		st.Val = term.Join(st.Val, term.New(term.Load, "", "", st.Val.Type, st.Loc))
	}
	return st
}

// outside reports whether a location exists before the function runs.
func outside(loc *term.Term) bool { return loc.Root().Op != term.Cell }
