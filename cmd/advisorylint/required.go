package main

import "golang.org/x/tools/go/analysis"

// withRequired gives the rules and the analyzers that they stand on, each once and after what it
// stands on itself.
func withRequired(rules []*analysis.Analyzer) []*analysis.Analyzer {
	var list []*analysis.Analyzer
	seen := map[*analysis.Analyzer]bool{}
	var visit func([]*analysis.Analyzer)
	visit = func(as []*analysis.Analyzer) {
		for _, a := range as {
			if !seen[a] {
				seen[a] = true
				visit(a.Requires)
				list = append(list, a)
			}
		}
	}
	visit(rules)
	return list
}

// factsOf gives the analyzers with facts among the rules and what they stand on.
func factsOf(rules []*analysis.Analyzer) []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, a := range withRequired(rules) {
		if len(a.FactTypes) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// talkative makes what the rules stand on say what it could not follow.
func talkative(rules []*analysis.Analyzer) error {
	for _, a := range withRequired(rules) {
		if a.Flags.Lookup("debug") != nil {
			if err := a.Flags.Set("debug", "true"); err != nil {
				return err
			}
		}
	}
	return nil
}
