package leasestate_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/leasestate"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
)

// The commands of each package are judged together; its loops are left to package leaseloop.
func BenchmarkJudge(b *testing.B) {
	type input struct {
		p   *stagetest.Package
		fns []*leasestate.Function
	}
	var all []input
	for p, runs := range stagetest.Runs(stagetest.Fixtures(b)) {
		in := input{p: p}
		for _, run := range runs {
			in.fns = append(in.fns, &leasestate.Function{Pkg: p.PkgPath, Exported: true, Run: run})
		}
		all = append(all, in)
	}
	noLoops := func([]*lockstate.Finding) []*lockstate.Finding { return nil }
	b.ReportAllocs()
	for b.Loop() {
		verdicts := 0
		for _, in := range all {
			for _, f := range leasestate.Judge(in.p.Reader(), in.fns, noLoops) {
				if f.Verdicts != 0 {
					verdicts++
				}
			}
		}
		if verdicts == 0 {
			b.Fatal("nothing is wrong with any lease")
		}
	}
}
