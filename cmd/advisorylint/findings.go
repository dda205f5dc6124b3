package main

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/findings"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// finding is one diagnostic of one rule.
type finding struct {
	rule     string
	severity findings.Severity // empty where the user chose none
	at       token.Position
	diag     analysis.Diagnostic
	pkg      *packages.Package
	held     *findings.Suppression // how the source keeps it back, or nil
	known    bool                  // it is in the baseline
}

// collect gives the findings in order of position, each once, and what went wrong in a rule. The
// files of a package are also in its test variant, which finds the same in them.
func collect(graph *checker.Graph, c chosen) (found []finding, troubles []string) {
	for _, act := range graph.Roots {
		if act.Err != nil {
			troubles = append(troubles, oneLine(origin(act).Error()))
			continue
		}
		for _, d := range act.Diagnostics {
			found = append(found, c.finding(act, d))
		}
	}
	slices.Sort(troubles)
	return inOrder(found), slices.Compact(troubles)
}

// held gives the findings that the source keeps back, as collect does.
func held(graph *checker.Graph, c chosen) []finding {
	var list []finding
	for _, act := range graph.Roots {
		for _, h := range driver.Suppressed(act.Result) {
			f := c.finding(act, h.Diagnostic)
			if !c.inForce(f.pkg).Excludes(f.at.Filename) {
				f.held = &findings.Suppression{Kind: h.Kind, Reason: h.Reason}
				list = append(list, f)
			}
		}
	}
	return inOrder(list)
}

// chosen is what the user chose, package by package.
type chosen struct {
	choice *settings.Choice
	known  map[place]*settings.InForce
	// compared: findings are held against a baseline.
	compared bool
}

// place is a directory of a module, with the module's version when it is required.
type place struct{ dir, version string }

func newChosen(choice *settings.Choice) chosen {
	return chosen{choice: choice, known: map[place]*settings.InForce{}}
}

// inForce gives what holds for a package, as its rules saw it.
func (c chosen) inForce(p *packages.Package) *settings.InForce {
	at := place{dir: p.Dir}
	if p.Module != nil {
		at.version = p.Module.Version
	}
	return c.in(at)
}

func (c chosen) in(at place) *settings.InForce {
	f, ok := c.known[at]
	if !ok {
		var err error
		if f, err = c.choice.Of(at.dir, at.version); err != nil {
			f = nil // the rules say what is wrong with the file
		}
		c.known[at] = f
	}
	return f
}

// severity is what is chosen for a rule, "" when nothing is.
func severity(f *settings.InForce, rule string) findings.Severity {
	if f == nil {
		return ""
	}
	return findings.Severity(f.Severity[rule])
}

func (c chosen) finding(act *checker.Action, d analysis.Diagnostic) finding {
	p, rule := act.Package, act.Analyzer.Name
	return finding{rule: rule, severity: severity(c.inForce(p), rule), at: p.Fset.Position(d.Pos), diag: d, pkg: p}
}

// inOrder sorts findings by position and leaves one of those that are the same.
func inOrder(list []finding) []finding {
	compare := func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(a.at.Filename, b.at.Filename),
			cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column),
			cmp.Compare(a.rule, b.rule),
			cmp.Compare(a.diag.Message, b.diag.Message),
		)
	}
	slices.SortStableFunc(list, compare)
	return slices.CompactFunc(list, func(a, b finding) bool { return compare(a, b) == 0 })
}

// origin is the error that made act fail: its own, or that of something it stands on.
func origin(act *checker.Action) error {
	for _, dep := range act.Deps {
		if dep.Err != nil {
			return origin(dep)
		}
	}
	return fmt.Errorf("%s: %w", act.Package.PkgPath, act.Err)
}
