// Package goplsrules puts the rules into gopls. `advisorylint gopls` builds a gopls that imports it:
//
//	import _ "github.com/advisorylint/advisorylint/analyzer/gopls"
//
// gopls runs what is in vet.Suite, which it reads once, as its package internal/settings is initialised.
// This package appends to it before that. Nothing but the order of initialisation makes it come first:
// of the packages whose imports are all initialised, Go initialises the one whose path sorts first
// (https://go.dev/ref/spec#Program_initialization), and github.com sorts before golang.org/x/tools/gopls.
// The packages that this one stands on do too, or gopls's settings stand on them as well, or (a few of
// the standard library) they sort before the last of those. The build asks the gopls that it made
// whether the rules are inside, so that a gopls without them is never handed out.
//
// A panic in a rule needs no guard here: gopls makes it an error of that analyzer on that package
// (internal/cache/analysis.go, exec).
package goplsrules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/analyzer/gopls/internal/modules"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// options are what the build was told, as JSON of settings.Settings. The linker sets it.
var options string

func init() {
	fault := follow(options)
	vet.Suite = append(vet.Suite, analyzer.All()...)
	vet.Suite = append(vet.Suite, complaints(fault))
}

// follow makes the rules follow the options of the build and, for what these leave open, the
// configuration files of the modules that are edited.
func follow(options string) error {
	given := settings.Given{Files: true}
	if options != "" {
		if err := json.Unmarshal([]byte(options), &given.Settings); err != nil {
			return fmt.Errorf("the options that this gopls was built with: %w", err)
		}
	}
	choice, err := driver.Use(given)
	if err != nil {
		return fmt.Errorf("the options that this gopls was built with: %w", err)
	}
	known := modules.Remember(listPath(), driver.Rules())
	choice.Find = known.Find
	keyed(analyzer.All(), known.Key())
	return nil
}

// listPath is where the list of modules is: beside what gopls keeps.
func listPath() string {
	dir := os.Getenv("GOPLSCACHE")
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			dir = os.TempDir()
		}
	}
	return filepath.Join(dir, "advisorylint", "gopls-modules")
}

// keyed makes what the rules stand on stand on an analyzer that does nothing but have a name.
func keyed(rules []*analysis.Analyzer, key string) {
	bearer := &analysis.Analyzer{
		Name:             key,
		Doc:              key + ": does nothing; its name says which configuration files hold",
		RunDespiteErrors: true,
		Run:              func(*analysis.Pass) (any, error) { return nil, nil },
	}
	done := map[*analysis.Analyzer]bool{}
	for _, rule := range rules {
		for _, engine := range rule.Requires {
			// What has facts runs on dependencies too, whose results depend on the files as well.
			if len(engine.FactTypes) > 0 && !done[engine] {
				done[engine] = true
				engine.Requires = append(engine.Requires, bearer)
			}
		}
	}
}

// complaints is an analyzer that says why the rules say nothing: gopls shows no errors of analyzers.
func complaints(fault error) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "advisorylint",
		Doc: "advisorylint: report a configuration file that cannot be followed\n\n" +
			"Where the .advisorylint.yaml of a module is wrong, no rule of advisorylint looks at the module's packages.",
		URL:              "https://github.com/advisorylint/advisorylint/blob/main/docs/integrations/gopls.md",
		RunDespiteErrors: true,
		Run: func(pass *analysis.Pass) (any, error) {
			err := fault
			if err == nil {
				_, err = settings.Of(pass)
			}
			if err != nil && len(pass.Files) > 0 {
				clause := pass.Files[0].Name
				pass.Report(analysis.Diagnostic{
					Pos: clause.Pos(), End: clause.End(),
					Category: pass.Analyzer.Name,
					Message:  fmt.Sprintf("advisorylint looks at nothing here: %v; put it right and restart gopls", err),
				})
			}
			return nil, nil
		},
	}
}
