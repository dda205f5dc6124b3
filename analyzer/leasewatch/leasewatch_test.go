package leasewatch_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/leasewatch"
)

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", leasewatch.Analyzer, "./leasewatch")
}
