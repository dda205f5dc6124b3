package main

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

// guardRules makes a panic in a rule an error of that rule on that package. Drivers run rules in
// goroutines of their own, where main cannot recover. The copies are safe because nothing requires a rule.
func guardRules(rules []*analysis.Analyzer) []*analysis.Analyzer {
	list := make([]*analysis.Analyzer, len(rules))
	for i, rule := range rules {
		guarded := *rule
		guarded.Run = func(pass *analysis.Pass) (result any, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("internal error of rule %s in package %s: %v", rule.Name, pass.Pkg.Path(), p)
				}
			}()
			return rule.Run(pass)
		}
		list[i] = &guarded
	}
	return list
}
