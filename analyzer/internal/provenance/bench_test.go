package provenance_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
)

// The text, the handle and the context of everything that is sent are read, each package with a fresh reader.
func BenchmarkRead(b *testing.B) {
	sends := map[*stagetest.Package][]*summary.Effect{}
	for p, runs := range stagetest.Runs(stagetest.Fixtures(b)) {
		for _, run := range runs {
			for _, path := range run.Paths {
				for _, e := range path.Effects {
					if e.Op == summary.Send {
						sends[p] = append(sends[p], e)
					}
				}
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		texts, kinds, contexts := 0, 0, 0
		for p, effects := range sends {
			r := p.Reader()
			for _, e := range effects {
				texts += len(r.Texts(e.Text))
				if r.Kind(e.Handle) != 0 {
					kinds++
				}
				if e.Ctx != nil && r.Context(e.Ctx, e.CleanupSite) != (provenance.Context{}) {
					contexts++
				}
			}
		}
		if texts == 0 || kinds == 0 || contexts == 0 {
			b.Fatalf("%d texts, %d kinds of handles, %d contexts", texts, kinds, contexts)
		}
	}
}
