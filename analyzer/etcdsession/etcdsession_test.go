package etcdsession_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/etcdsession"
)

func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", etcdsession.Analyzer, "./etcdsession")
}
