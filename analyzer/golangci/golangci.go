// Package golangci is the suite as a module plugin of golangci-lint v2. A golangci-lint into which it is
// built runs the rules as one linter, advisorylint; docs/integrations/golangci-lint.md says how to make
// one and what can be set.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// Name is the linter's name, in golangci-lint's configuration and in a nolint.
const Name = "advisorylint"

func init() { register.Plugin(Name, New) }

// New makes the linter of what linters.settings.custom.advisorylint.settings has; nil when it is not
// there. An error has one line, with the key that it is about.
func New(conf any) (register.LinterPlugin, error) {
	given, err := decode(conf)
	if err != nil {
		return nil, err
	}
	return plugin{given}, nil
}

type plugin struct{ settings settings.Settings }

// BuildAnalyzers gives every rule: the settings decide what each of them says.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	// The configuration file of the command is not read: golangci-lint's cache does not know of it, so
	// that findings would stay as they were when the file changes.
	_, err := driver.Use(settings.Given{Settings: p.settings, FirstFix: true})
	if err != nil {
		return nil, err
	}
	var list []*analysis.Analyzer
	for _, rule := range analyzer.All() {
		list = append(list, adapt(rule))
	}
	return list, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
