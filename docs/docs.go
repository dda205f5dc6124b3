// Package docs carries the rules' pages into the command, which shows them offline.
package docs

import (
	"embed"
	"fmt"
)

//go:embed rules/*.md
var pages embed.FS

// Rule returns the page of a rule in Markdown. The error says that there is none.
func Rule(name string) (string, error) {
	data, err := pages.ReadFile("rules/" + name + ".md")
	if err != nil {
		return "", fmt.Errorf("there is no page of rule %s: %w", name, err)
	}
	return string(data), nil
}
