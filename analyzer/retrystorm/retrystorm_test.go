package retrystorm_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/retrystorm"
)

const fixtures = "../../testdata/src"

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, fixtures, retrystorm.Analyzer, "./retrystorm")
}

// The default set must have nothing to say of a wait, were it a fixed one.
func TestDefaultSaysNothingOfFixedWaits(t *testing.T) {
	spins := 0
	for _, result := range analysistest.Run(unmet{t}, fixtures, retrystorm.SpinsAnalyzer, "./retrystorm") {
		for _, d := range result.Diagnostics {
			if !strings.Contains(d.Message, "without a wait") {
				t.Errorf("%s: %s", result.Pass.Fset.Position(d.Pos), d.Message)
			}
			spins++
		}
	}
	if spins == 0 {
		t.Error("no loop without a wait is reported")
	}
}

// unmet takes an expectation about a fixed wait that is not met for what it should be.
type unmet struct{ t *testing.T }

func (u unmet) Errorf(format string, args ...any) { u.t.Logf(format, args...) }
