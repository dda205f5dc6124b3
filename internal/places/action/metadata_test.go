// Package action holds action.yml and the examples of docs/integrations/ci.md to what GitHub Actions takes,
// and runs the action's scripts with bash as a runner does.
package action

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../../.." // of this repository, from this folder

// metadata is what a composite action may have, by GitHub's "Metadata syntax reference".
type metadata struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Branding    map[string]string `yaml:"branding"`
	Inputs      map[string]struct {
		Description string `yaml:"description"`
		Required    bool   `yaml:"required"`
		Default     string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []step `yaml:"steps"`
	} `yaml:"runs"`
}

// step is one that runs a script.
type step struct {
	Name  string            `yaml:"name"`
	ID    string            `yaml:"id,omitempty"`
	Shell string            `yaml:"shell"`
	Dir   string            `yaml:"working-directory,omitempty"`
	Env   map[string]string `yaml:"env,omitempty"`
	Run   string            `yaml:"run"`
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// readAction fails on keys that GitHub does not know.
func readAction(t *testing.T) metadata {
	t.Helper()
	var m metadata
	decoder := yaml.NewDecoder(strings.NewReader(readFile(t, "action.yml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil {
		t.Fatalf("action.yml: %v", err)
	}
	return m
}

// blocks gives the blocks of a language on the page of CI that contain text.
func blocks(t *testing.T, language, text string) []string {
	t.Helper()
	var list []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(readFile(t, "docs/integrations/ci.md"), -1) {
		if strings.Contains(m[1], text) {
			list = append(list, m[1])
		}
	}
	if len(list) == 0 {
		t.Fatalf("docs/integrations/ci.md has no block of %s with %q", language, text)
	}
	return list
}

func TestActionIsComposite(t *testing.T) {
	m := readAction(t)
	if m.Runs.Using != "composite" || len(m.Runs.Steps) == 0 {
		t.Errorf("action.yml runs %q with %d steps", m.Runs.Using, len(m.Runs.Steps))
	}
	for _, s := range m.Runs.Steps {
		if s.Shell != "bash" {
			t.Errorf("step %q: shell is %q; a step of a composite action names one, and bash is on every runner", s.Name, s.Shell)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: an expression in a script is code for whoever chooses its value; give it by env", s.Name)
		}
	}
}

// The page and the action have the same inputs, with the same defaults.
func TestPageListsTheInputs(t *testing.T) {
	m := readAction(t)
	page := readFile(t, "docs/integrations/ci.md")
	rows := regexp.MustCompile("(?m)^\\| `([\\w-]+)` \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		if _, ok := m.Inputs[row[1]]; !ok {
			t.Errorf("the page has %s, which is no input", row[1])
		}
	}
	if len(rows) != len(m.Inputs) {
		t.Errorf("the page has %d inputs, the action %d", len(rows), len(m.Inputs))
	}
	for name, input := range m.Inputs {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*$").FindString(page)
		if shown := input.Default; shown != "" && !strings.HasSuffix(row, "| `"+shown+"` |") {
			t.Errorf("the page's row of %s does not say its default %q: %s", name, shown, row)
		}
	}
}
