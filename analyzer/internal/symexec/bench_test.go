package symexec_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
)

// Each function is followed, and those that it calls are summarised on the way.
func BenchmarkFollow(b *testing.B) {
	for _, input := range []struct {
		name string
		pkgs []*stagetest.Package
	}{{"fixtures", stagetest.Fixtures(b)}, {"library", stagetest.Library(b)}} {
		b.Run(input.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				effects := 0
				for _, runs := range stagetest.Runs(input.pkgs) {
					for _, run := range runs {
						for _, p := range run.Paths {
							effects += len(p.Effects)
						}
					}
				}
				if effects == 0 {
					b.Fatal("no path does anything")
				}
			}
		})
	}
}

func BenchmarkSummarise(b *testing.B) {
	all := stagetest.Runs(stagetest.Fixtures(b))
	b.ReportAllocs()
	for b.Loop() {
		outcomes := 0
		for _, runs := range all {
			for _, run := range runs {
				outcomes += len(symexec.Summarise(run).Outcomes)
			}
		}
		if outcomes == 0 {
			b.Fatal("no function has an outcome")
		}
	}
}
