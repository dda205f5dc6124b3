package unlockresult_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/advisorylint/advisorylint/analyzer/unlockresult"
)

// The program in withruntime has the runtime, so that its fixes call it; for the other that is a choice.
func TestFixture(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "../../testdata/src", unlockresult.Analyzer, "./unlockresult", "./withruntime")
}
