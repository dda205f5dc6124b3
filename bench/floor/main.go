// Floor is the least that a linter with facts can cost: one analyzer that looks at nothing and has
// a fact type, so that the driver of golang.org/x/tools loads, type-checks and visits every
// dependency, as it does for advisorylint. What advisorylint costs above this is its own.
package main

import (
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/singlechecker"
)

// nothing is the fact that is never exported; its type alone makes the driver visit dependencies.
type nothing struct{}

func (*nothing) AFact() {}

func main() {
	singlechecker.Main(&analysis.Analyzer{
		Name:      "floor",
		Doc:       "looks at nothing, in every package",
		FactTypes: []analysis.Fact{new(nothing)},
		Run:       func(*analysis.Pass) (any, error) { return nil, nil },
	})
}
