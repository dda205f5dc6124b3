// Package driver is what every driver of the whole suite does before it runs the rules: the command, go
// vet's tool, the plugin of golangci-lint, gopls.
package driver

import (
	"path/filepath"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
	"github.com/advisorylint/advisorylint/internal/suppress"
)

// Use makes all rules of the suite follow what the driver was told. The driver then runs all of them, and
// the settings decide for each package how much of which is reported. The error is a *settings.Fault.
func Use(given settings.Given) (*settings.Choice, error) {
	if fault := given.Check(Rules()); fault != nil {
		return nil, fault
	}
	choice := &settings.Choice{Given: given, Defaults: defaults(), Find: Find}
	settings.Use(choice)
	return choice, nil
}

// Find reads the configuration file that governs a directory.
func Find(dir string) (*settings.File, error) { return configfile.Find(dir, Rules()) }

// Only gives a Find for which the file at path governs every directory.
func Only(path string) (func(string) (*settings.File, error), error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file, err := configfile.Read(path, Rules())
	return func(string) (*settings.File, error) { return file, nil }, err
}

// Rules are the names of all rules.
func Rules() []string {
	var names []string
	for _, a := range analyzer.All() {
		names = append(names, a.Name)
	}
	return names
}

// defaults is the default set.
func defaults() map[string]settings.Form {
	forms := map[string]settings.Form{}
	for _, a := range analyzer.All() {
		forms[a.Name] = settings.Off
	}
	for _, a := range analyzer.Default() {
		forms[a.Name] = settings.Full
		if a != analyzer.ByName(a.Name) {
			forms[a.Name] = settings.Part
		}
	}
	return forms
}

// Suppressed gives the findings that the source keeps back, from the result of a rule of the suite.
func Suppressed(result any) []suppress.Held {
	if r, ok := result.(*suppress.Result); ok {
		return r.Held
	}
	return nil
}
