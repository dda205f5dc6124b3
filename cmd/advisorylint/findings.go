package main

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// finding is one diagnostic of one rule.
type finding struct {
	rule string
	at   token.Position
	diag analysis.Diagnostic
	pkg  *packages.Package
}

// collect gives the findings in order of position, each once, and what went wrong in a rule. The
// files of a package are also in its test variant, which finds the same in them.
func collect(graph *checker.Graph) (found []finding, troubles []string) {
	type key struct {
		at            token.Position
		rule, message string
	}
	seen := map[key]bool{}
	for _, act := range graph.Roots {
		if act.Err != nil {
			troubles = append(troubles, oneLine(origin(act).Error()))
			continue
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos)
			k := key{at, act.Analyzer.Name, d.Message}
			if !seen[k] {
				seen[k] = true
				found = append(found, finding{act.Analyzer.Name, at, d, act.Package})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(a.at.Filename, b.at.Filename),
			cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column),
			cmp.Compare(a.rule, b.rule),
			cmp.Compare(a.diag.Message, b.diag.Message),
		)
	})
	slices.Sort(troubles)
	return found, slices.Compact(troubles)
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
