package golangci

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
)

// place is where golangci-lint's configuration has the options.
const place = "linters.settings.custom." + Name + ".settings"

// decode reads the options as golangci-lint hands them on: the values of its YAML, TOML or JSON. They go
// through the reader of the configuration file, so that the same is right, and wrong, in both.
func decode(conf any) (settings.Settings, error) {
	if options, ok := conf.(map[string]any); ok {
		if _, ok := options[settings.Severity]; ok {
			return settings.Settings{}, fmt.Errorf("%s.%s: golangci-lint has severities of its own; write at the top level "+
				"severity: {default: warning, rules: [{linters: [%s], text: '^lockwait: ', severity: info}]}", place, settings.Severity, Name)
		}
	}
	text, err := yaml.Marshal(conf)
	if err != nil {
		return settings.Settings{}, fmt.Errorf("%s: %w", place, err)
	}
	file, err := configfile.Parse(place, text, driver.Rules())
	var fault *configfile.Error
	switch {
	case errors.As(err, &fault):
		option, item := keyAt(text, fault.Line)
		switch {
		case option == "":
			return settings.Settings{}, fmt.Errorf("%s: %s", place, fault.Text)
		case strings.HasPrefix(fault.Text, option+" is "): // all of it, which starts where its first item does
			item = ""
		}
		return settings.Settings{}, fmt.Errorf("%s.%s%s: %s", place, option, item, strings.TrimPrefix(fault.Text, option+": "))
	case err != nil:
		return settings.Settings{}, err
	}
	return file.Settings, nil
}

// keyAt gives the option at a line of text, and "[1]" for a line in the second item of its list; "" where
// there is none. The text is decode's own, so that nobody could look at a line.
func keyAt(text []byte, line int) (option, item string) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return "", ""
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs) && pairs[i].Line <= line; i += 2 {
		key, value := pairs[i], pairs[i+1]
		option, item = key.Value, ""
		if value.Kind != yaml.SequenceNode {
			continue
		}
		for n, of := range value.Content {
			if of.Line <= line {
				item = fmt.Sprintf("[%d]", n)
			}
		}
	}
	return option, item
}
