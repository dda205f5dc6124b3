package symexec

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

func names(stores []summary.Store) (out string) {
	for _, st := range stores {
		v, _ := st.Val.StrVal()
		out += st.Loc.Str + "=" + v + " "
	}
	return out
}

// The parts of a struct are its fields, each once with what it holds now, in the order of their names, whatever
// way memory came about.
func TestPartsOfMemory(t *testing.T) {
	x, y := term.New(term.Cell, "", "1", ""), term.New(term.Cell, "", "2", "")
	put := func(m *memory, op term.Op, of *term.Term, name, val string) {
		m.put(summary.Store{Loc: term.New(op, name, "", "", of), Val: term.Str(val)})
	}
	var m memory
	put(&m, term.FieldPtr, x, "b", "old")
	put(&m, term.FieldPtr, y, "a", "of another")
	put(&m, term.ElemPtr, x, "c", "an element")
	o := m.copy()
	put(&m, term.FieldPtr, x, "b", "new")
	put(&o, term.FieldPtr, x, "a", "on another path")
	if got := names(m.parts(x, term.FieldPtr)); got != "b=new " {
		t.Errorf("on one path %q", got)
	}
	if got := names(o.parts(x, term.FieldPtr)); got != "a=on another path b=old " {
		t.Errorf("on the other %q", got)
	}
	o.merge(&m)
	if got := names(o.parts(x, term.FieldPtr)); got != "a=on another path b= " {
		t.Errorf("together %q", got)
	}
	if got := names(o.parts(x, term.ElemPtr)); got != "c=an element " {
		t.Errorf("elements %q", got)
	}
	// An assertion does not make another location of it.
	m.put(summary.Store{Loc: term.New(term.As, "", "", "", term.New(term.FieldPtr, "d", "", "", y)), Val: term.Str("as")})
	put(&m, term.FieldPtr, y, "d", "plain")
	if got := names(m.parts(y, term.FieldPtr)); got != "a=of another d=plain " {
		t.Errorf("after an assertion %q", got)
	}
}
