package lockstate_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Each function is judged by its paths, then the methods of each package together.
func BenchmarkJudge(b *testing.B) {
	all := stagetest.Runs(stagetest.Fixtures(b))
	never := func(*term.Term) bool { return false }
	b.ReportAllocs()
	for b.Loop() {
		verdicts := 0
		for p, runs := range all {
			r := p.Reader()
			var found []*lockstate.Finding
			var places []*lockstate.Places
			for _, run := range runs {
				f, at := lockstate.Judge(r, run, lockstate.Options{Pooler: never, Bounded: never})
				found, places = append(found, f...), append(places, at)
			}
			lockstate.Pair(found, places)
			for _, f := range found {
				if f.Verdicts != 0 {
					verdicts++
				}
			}
		}
		if verdicts == 0 {
			b.Fatal("nothing is wrong with any lock")
		}
	}
}
