package renewloop_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/renewloop"
)

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", renewloop.Analyzer, "./renewloop")
}
