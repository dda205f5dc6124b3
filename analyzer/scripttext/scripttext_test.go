package scripttext_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/scripttext"
)

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", scripttext.Analyzer, "./scripttext")
}
