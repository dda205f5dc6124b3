// Package report turns a rule, which is a predicate on lock events and a message, into an
// analyzer, and an event into a diagnostic. It also holds the words that messages share.
package report

import (
	"reflect"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/suppress"
)

const rulePages = "https://github.com/advisorylint/advisorylint/blob/main/docs/rules/"

// Page is the address of a rule's page.
func Page(rule string) string { return rulePages + rule + ".md" }

// Rule is one mistake with locks, as lockflow's events show it.
type Rule struct {
	Name string
	Doc  string // "name: one line", an empty line, the documentation

	// Holds must not depend on where in the call chain the event stands: lockflow asks it of a
	// helper's event and of its caller's to find where the mistake is complete.
	Holds func(*lockflow.Event) bool
	// Part is Holds for what the default set has of a rule that is on in part; nil for the others.
	Part    func(*lockflow.Event) bool
	Message func(*lockflow.Event) string
	// Fix gives the edits that take the mistake away; nil, or an empty result, when there are none.
	Fix func(*analysis.Pass, *lockflow.Event) []analysis.SuggestedFix
}

// Analyzer gives the rule as an analyzer.
func (r Rule) Analyzer() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       r.Name,
		Doc:        r.Doc,
		URL:        Page(r.Name),
		Requires:   []*analysis.Analyzer{lockflow.Analyzer},
		ResultType: reflect.TypeFor[*suppress.Result](),
		Run:        func(pass *analysis.Pass) (any, error) { return r.run(pass) },
	}
}

// run reports what the settings that are in force leave of the rule.
func (r Rule) run(pass *analysis.Pass) (*suppress.Result, error) {
	locks := pass.ResultOf[lockflow.Analyzer].(*lockflow.Result)
	holds := r.Holds
	switch locks.InForce.Runs(r.Name) {
	case settings.Off:
		return &suppress.Result{}, nil
	case settings.Part:
		if r.Part != nil {
			holds = r.Part
		}
	}
	wanted := *pass
	wanted.Report = func(d analysis.Diagnostic) {
		if locks.InForce.Excludes(pass.Fset.Position(d.Pos).Filename) {
			return
		}
		if locks.InForce.FirstFix() && len(d.SuggestedFixes) > 1 {
			d.SuggestedFixes = d.SuggestedFixes[:1]
		}
		pass.Report(d)
	}
	return suppress.Run(func(pass *analysis.Pass) error {
		locks.First(holds, func(e *lockflow.Event) { r.report(pass, e) })
		return nil
	})(&wanted)
}

func (r Rule) report(pass *analysis.Pass, e *lockflow.Event) {
	var fixes []analysis.SuggestedFix
	if r.Fix != nil && e.Call != nil && e.File != nil {
		fixes = r.Fix(pass, e)
	}
	At(pass, e, r.Message(named(pass, e)), fixes...)
}

// At reports message at e's call, with the way to the line that sends the text as related
// information. In a Rule's run, the pass keeps back what the source suppresses.
func At(pass *analysis.Pass, e *lockflow.Event, message string, fixes ...analysis.SuggestedFix) {
	d := analysis.Diagnostic{
		Pos:            e.Pos,
		Category:       pass.Analyzer.Name,
		Message:        message,
		URL:            pass.Analyzer.URL,
		SuggestedFixes: fixes,
		Related:        related(e),
	}
	if e.Call != nil {
		d.End = e.Call.End()
	}
	pass.Report(d)
}

// related lists the event's trail and the lock it belongs to. A step in a file that is not part
// of this pass has no position here, so its file and line go into the text.
func related(e *lockflow.Event) []analysis.RelatedInformation {
	var out []analysis.RelatedInformation
	for _, s := range e.Trail {
		info := analysis.RelatedInformation{Pos: s.Pos, Message: s.Text}
		if !s.Pos.IsValid() {
			info.Pos = e.Pos
			info.Message = s.Posn + ": " + s.Text
		}
		out = append(out, info)
	}
	if o := e.Other; o != nil && o.Pos.IsValid() && o.Lock != nil {
		out = append(out, analysis.RelatedInformation{Pos: o.Pos, Message: Func(o) + " is called here"})
	}
	return out
}
