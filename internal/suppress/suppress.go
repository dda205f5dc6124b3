// Package suppress keeps findings back where the source says so:
//
//	//lint:ignore poollock the pool is capped at one connection
//	//nolint:poollock // or //nolint:advisorylint, or a bare //nolint
//
// It works inside the rules, so that go vet, golangci-lint, gopls and the command agree.
package suppress

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Result is what a rule that Run wraps gives to the driver, beside its findings.
type Result struct{ Held []Held }

// Held is a finding that a directive kept back.
type Held struct {
	Diagnostic analysis.Diagnostic
	Kind       string // "lint:ignore" or "nolint"
	Reason     string // as the directive gives it; a nolint needs none
	// Suite: a nolint that names no rule but the whole suite, or nobody, would keep it back as well.
	Suite bool
}

// Run wraps what a rule does so that findings the source suppresses do not reach the driver but its
// result, and so that a lint:ignore which is wrong is a finding itself: one without a reason, one that
// matched nothing. A rule speaks only of the directives that name it, since of others it cannot know.
func Run(run func(*analysis.Pass) error) func(*analysis.Pass) (*Result, error) {
	return func(pass *analysis.Pass) (*Result, error) {
		result := &Result{}
		all := find(pass)
		if len(all) == 0 {
			return result, run(pass)
		}
		rule := pass.Analyzer.Name
		filtered := *pass
		filtered.Report = func(d analysis.Diagnostic) {
			if by, suite := all.suppress(pass.Fset, d.Pos, rule); by != nil {
				result.Held = append(result.Held, Held{d, by.kind(), by.reason, suite})
				return
			}
			pass.Report(d)
		}
		err := run(&filtered)
		if err == nil {
			all.complain(pass, rule)
		}
		return result, err
	}
}

// directives are those of one pass, each with whether it has matched. A rule's Run has its own.
type directives []*directive

// suppress gives the first directive that covers pos and names rule, nil when there is none, and whether one
// names the suite. It marks all of them.
func (all directives) suppress(fset *token.FileSet, pos token.Pos, rule string) (by *directive, suite bool) {
	if !pos.IsValid() {
		return nil, false
	}
	at := fset.PositionFor(pos, false)
	for _, d := range all {
		if d.file == at.Filename && d.first <= at.Line && at.Line <= d.last && d.names(rule) && !d.unreasoned() {
			d.matched = true
			suite = suite || d.suite()
			if by == nil {
				by = d
			}
		}
	}
	return by, suite
}

// complain reports the lint:ignore directives that are wrong, through the driver itself: they cannot
// be suppressed. Where a directive names several rules, the first speaks of a reason that is missing,
// and nobody of a match that is missing, because no rule knows what the others matched.
func (all directives) complain(pass *analysis.Pass, rule string) {
	for _, d := range all {
		switch {
		case d.nolint || !slices.Contains(d.rules, rule):
		case d.unreasoned() && d.rules[0] == rule:
			pass.Report(analysis.Diagnostic{
				Pos: d.pos, End: d.end,
				Message: "this lint:ignore has no reason and is not followed: say after " + rule + " why it is no mistake here",
			})
		case !d.unreasoned() && !d.matched && len(d.rules) == 1:
			pass.Report(analysis.Diagnostic{
				Pos: d.pos, End: d.end,
				Message:        "this lint:ignore matches no finding of " + rule + ": remove it",
				SuggestedFixes: removal(pass.Fset, d),
			})
		}
	}
}

// removal takes away the line that d has for itself. Behind code it has no fix: what stands between
// the code and the comment cannot be told from the syntax.
func removal(fset *token.FileSet, d *directive) []analysis.SuggestedFix {
	file := fset.File(d.pos)
	line := fset.PositionFor(d.pos, false).Line
	if !d.alone || line >= file.LineCount() {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   "remove the lint:ignore",
		TextEdits: []analysis.TextEdit{{Pos: file.LineStart(line), End: file.LineStart(line + 1)}},
	}}
}
