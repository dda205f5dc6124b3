package summary_test

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
)

// Summaries are written as facts, and read where the package is imported. B/summary says how large they are.
func BenchmarkFacts(b *testing.B) {
	var sums []*summary.Summary
	for _, runs := range stagetest.Runs(stagetest.Fixtures(b)) {
		for _, run := range runs {
			sums = append(sums, symexec.Summarise(run))
		}
	}
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = 0
		for _, s := range sums {
			var buf bytes.Buffer
			if err := gob.NewEncoder(&buf).Encode(s); err != nil {
				b.Fatal(err)
			}
			size += buf.Len()
			got := new(summary.Summary)
			if err := gob.NewDecoder(&buf).Decode(got); err != nil {
				b.Fatal(err)
			}
			if len(got.Outcomes) != len(s.Outcomes) {
				b.Fatalf("%d outcomes came back of %d", len(got.Outcomes), len(s.Outcomes))
			}
		}
	}
	b.ReportMetric(float64(size)/float64(len(sums)), "B/summary")
}
