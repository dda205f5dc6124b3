package main

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/internal/check"
)

// guard makes a panic in a rule, or in what rules stand on, an error of that analyzer on that package.
// Drivers run analyzers in goroutines of their own, where main cannot recover. It changes the
// analyzers themselves, since rules look their requirements up by identity; call it once.
func guard(rules []*analysis.Analyzer) {
	for _, a := range check.Required(rules) {
		a.Run = guarding(a.Name, a.Run)
	}
}

func guarding(name string, run func(*analysis.Pass) (any, error)) func(*analysis.Pass) (any, error) {
	return func(pass *analysis.Pass) (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("internal error of %s in package %s: %v", name, pass.Pkg.Path(), p)
			}
		}()
		return run(pass)
	}
}
