package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
)

// configCommand prints what is in force in this directory and where each option comes from, in the form
// of a configuration file.
func configCommand(args []string) int {
	o, err := parseOptions(args)
	if err == nil && len(o.args) > 0 {
		err = fmt.Errorf("config takes flags and no packages; it speaks of the current directory, or of -C's (%s)", o.args[0])
	}
	if err != nil {
		return fail(err)
	}
	choice, f, err := o.prepare()
	if err != nil {
		return fail(err)
	}
	text, err := describeConfig(choice, f)
	if err != nil {
		return fail(err)
	}
	fmt.Print(text)
	return exitClean
}

func describeConfig(choice *settings.Choice, f *settings.InForce) (string, error) {
	var out strings.Builder
	switch {
	case f.File != nil:
		fmt.Fprintf(&out, "# %s\n", f.File.Path)
	case !choice.Files:
		fmt.Fprintf(&out, "# no configuration file: -config=off\n")
	default:
		fmt.Fprintf(&out, "# no %s at the module's root or above it\n", configfile.Name)
	}
	for _, name := range settings.Names {
		from := origins(choice, f, name)
		if from == "" {
			fmt.Fprintf(&out, "# %s: not given\n", name)
			continue
		}
		value, err := yamlLine(&f.Settings, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s # %s\n", value, from)
	}
	if len(choice.Without) > 0 {
		fmt.Fprintf(&out, "# taken away by their flags: %s\n", strings.Join(choice.Without, ", "))
	}
	for _, part := range []struct {
		form settings.Form
		text string
	}{{settings.Full, "run"}, {settings.Part, "run in part"}, {settings.Off, "do not run"}} {
		var rules []string
		for _, rule := range driver.Rules() {
			if f.Runs(rule) == part.form {
				rules = append(rules, rule)
			}
		}
		if len(rules) > 0 {
			fmt.Fprintf(&out, "# %s: %s\n", part.text, strings.Join(rules, ", "))
		}
	}
	return out.String(), nil
}

// origins says where an option comes from, "" when it is not given.
func origins(choice *settings.Choice, f *settings.InForce, name string) string {
	switch {
	case choice.Has(name) && f.File != nil && f.File.Has(name):
		return fmt.Sprintf("-%s, in the place of line %d", name, f.File.Lines[name])
	case choice.Has(name):
		return "-" + name
	case f.Has(name):
		return fmt.Sprintf("line %d", f.File.Lines[name])
	}
	return ""
}

// yamlLine writes an option as a configuration file has it, on one line.
func yamlLine(s *settings.Settings, name string) (string, error) {
	var node yaml.Node
	if err := node.Encode(s.Only(name)); err != nil {
		return "", err
	}
	for _, n := range node.Content {
		if n.Kind != yaml.ScalarNode {
			n.Style = yaml.FlowStyle
		}
	}
	line, err := yaml.Marshal(&node)
	return strings.TrimSpace(string(line)), err
}
