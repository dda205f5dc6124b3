package main

import (
	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/internal/check"
)

// factsOf gives the analyzers with facts among the rules and what they stand on.
func factsOf(rules []*analysis.Analyzer) []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, a := range check.Required(rules) {
		if len(a.FactTypes) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// talkative makes what the rules stand on say what it could not follow.
func talkative(rules []*analysis.Analyzer) error {
	for _, a := range check.Required(rules) {
		if a.Flags.Lookup("debug") != nil {
			if err := a.Flags.Set("debug", "true"); err != nil {
				return err
			}
		}
	}
	return nil
}
