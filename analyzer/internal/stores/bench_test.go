package stores_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// What a client library stores is indexed, and each place is traced to what it can hold.
func BenchmarkIndex(b *testing.B) {
	library := stagetest.Library(b)
	b.ReportAllocs()
	for b.Loop() {
		constant := func(t *term.Term) bool { return t.Has(func(t *term.Term) bool { return t.Op == term.Const }) }
		places := 0
		for _, p := range library {
			places += len(stores.New(p.Types, p.Fns).Holding(constant))
		}
		if places == 0 {
			b.Fatal("no place has a constant")
		}
	}
}
