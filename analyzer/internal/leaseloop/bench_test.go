package leaseloop_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/leaseloop"
	"github.com/advisorylint/advisorylint/analyzer/internal/leasestate"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
)

// The functions of each package are indexed, and the loops round what leasestate found are judged.
func BenchmarkJudge(b *testing.B) {
	found := map[*stagetest.Package][]*lockstate.Finding{}
	for p, runs := range stagetest.Runs(stagetest.Fixtures(b)) {
		var fns []*leasestate.Function
		for _, run := range runs {
			fns = append(fns, &leasestate.Function{Pkg: p.PkgPath, Exported: true, Run: run})
		}
		leasestate.Judge(p.Reader(), fns, func(leases []*lockstate.Finding) []*lockstate.Finding {
			found[p] = leases
			return nil
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		loops := 0
		for p, leases := range found {
			loops += len(leaseloop.New(p.Fns, p.World().Posn).Judge(leases))
		}
		if loops == 0 {
			b.Fatal("no loop is wrong")
		}
	}
}
