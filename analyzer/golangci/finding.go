package golangci

import (
	"fmt"
	"go/token"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/suppress"
)

// adapt gives a rule as golangci-lint needs it. Its name stays, which golangci-lint puts before each
// message.
func adapt(rule *analysis.Analyzer) *analysis.Analyzer {
	adapted := *rule
	adapted.Run = func(pass *analysis.Pass) (any, error) {
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) { pass.Report(inOneLine(pass.Fset, d)) }
		result, err := rule.Run(&inner)
		if err == nil {
			handOver(&inner, driver.Suppressed(result))
		}
		return result, err
	}
	return &adapted
}

// inOneLine moves a finding's related information into its message. golangci-lint makes findings of
// their own of it: they would stand at innocent lines, count, stay when the finding is fixed, and not
// be suppressed with it.
func inOneLine(fset *token.FileSet, d analysis.Diagnostic) analysis.Diagnostic {
	var parts []string
	for _, info := range d.Related {
		text := info.Message
		if info.Pos.IsValid() && info.Pos != d.Pos { // one in another package has its place in its text
			at := fset.Position(info.Pos)
			text = fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, text)
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		d.Message += " (" + strings.Join(parts, "; ") + ")"
	}
	d.Related = nil
	return d
}

// handOver reports the findings that a nolint for all of the suite keeps back: a bare one, or one of
// advisorylint or all. These are golangci-lint's to suppress, whose nolintlint takes a nolint for unused
// when golangci-lint suppressed nothing by it. It knows no rules, so that a nolint of one is left to
// the rule.
func handOver(pass *analysis.Pass, held []suppress.Held) {
	for _, h := range held {
		if h.Suite {
			pass.Report(h.Diagnostic)
		}
	}
}
