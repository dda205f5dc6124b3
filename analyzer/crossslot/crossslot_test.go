package crossslot_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/crossslot"
)

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", crossslot.Analyzer, "./crossslot")
}
