package main

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"

	"github.com/advisorylint/advisorylint/analyzer"
)

// lockSite is a place at which a lock is seen.
type lockSite struct {
	analyzer.Site
	at token.Position
}

// lockSites gives all of a run, in order of position and each once.
func lockSites(graph *checker.Graph) []lockSite {
	var list []lockSite
	for _, act := range graph.Roots {
		sites, _ := act.Result.([]analyzer.Site)
		for _, s := range sites {
			list = append(list, lockSite{s, act.Package.Fset.Position(s.Pos)})
		}
	}
	compare := func(a, b lockSite) int {
		return cmp.Or(
			cmp.Compare(a.at.Filename, b.at.Filename),
			cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column),
			cmp.Compare(a.What, b.What),
		)
	}
	slices.SortStableFunc(list, compare)
	return slices.CompactFunc(list, func(a, b lockSite) bool { return compare(a, b) == 0 })
}

// printSites lists what is known of each site, and what is not.
func printSites(w io.Writer, list []lockSite, paint palette) {
	for _, s := range list {
		fmt.Fprintf(w, "%s: %s\n", paint.place(position(s.at)), s.text())
	}
}

func (s lockSite) text() string {
	if s.Scope == "" {
		return s.What + " " + strings.Join(s.Missing, ", ")
	}
	parts := []string{s.What, s.Scope}
	if s.Handle != "" {
		parts = append(parts, "on a "+s.Handle)
	}
	if s.Key != "" {
		parts = append(parts, "key "+s.Key)
	}
	if s.Through {
		parts = append(parts, "in a function called here")
	}
	text := strings.Join(parts, ", ")
	if len(s.Missing) > 0 {
		text += "; not known: " + strings.Join(s.Missing, ", ")
	}
	return text
}
