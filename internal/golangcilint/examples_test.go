package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
)

const docs = "../../docs/integrations/"

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// page gives the configuration that stands in the page.
func page(t *testing.T) string {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, docs+"golangci-lint.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d configurations, want one", len(blocks))
	}
	return blocks[0][1]
}

func TestExampleConfigurations(t *testing.T) {
	byPooler := []string{"dock/dock.go:13:9 poolerlock", "pier/pier.go:13:9 poolerlock", "crane/crane.go:12:12 poolerlock",
		"tide/tide.go:13:15 poolerlock", "pilot/pilot.go:12:9 poolerlock"}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"golangci.yml": {read(t, docs+"golangci-lint/golangci.yml"), byDefault(endlessWait)},
		"page":         {page(t), append(byPooler, endlessWait, pooledArrival, pooledMooring, pooledBoarding, unreadAnswer)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.write(t, ".golangci.yml", func(string) string { return test.text })
			if r := p.exec(t, "config", "verify"); r.code != 0 {
				t.Errorf("golangci-lint config verify:\n%s", r.log)
			}
			// Its other linters have been tested elsewhere. They take as long again.
			r := p.exec(t, "run", "--enable-only=advisorylint", "--uniq-by-line=false", "--max-same-issues=0")
			r.want(t, test.want...)
		})
	}
}

// golangci-lint's standard set has the linter in it, once it is configured.
func TestConfiguredLinterIsStandard(t *testing.T) {
	p := newProject(t)
	p.write(t, ".golangci.yml", func(string) string {
		return strings.Replace(p.config.text(), "  default: none\n  enable: [advisorylint]\n", "", 1)
	})
	var out struct{ Enabled []struct{ Name string } }
	if err := json.Unmarshal([]byte(p.exec(t, "linters", "--json").out), &out); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range out.Enabled {
		names = append(names, l.Name)
	}
	if !slices.Contains(names, "advisorylint") || !slices.Contains(names, "govet") {
		t.Errorf("enabled are %v", names)
	}
}

// golangciLint is the module that the program is built of.
func golangciLint(t *testing.T) (m struct{ Dir, Version string }) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-json", "github.com/golangci/golangci-lint/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// golangci-lint custom reads the file; its schema says what it takes. What it builds is what is tested here.
func TestExampleBuildsThisPlugin(t *testing.T) {
	text := read(t, docs+"golangci-lint/custom-gcl.yml")
	var example struct {
		Version string
		Plugins []struct{ Module, Import, Version string }
	}
	var value any
	for _, into := range []any{&example, &value} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(golangciLint(t).Dir, "jsonschema/custom-gcl.jsonschema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	if want := golangciLint(t).Version; example.Version != want {
		t.Errorf("golangci-lint is %s, the plugin is tested with %s", example.Version, want)
	}
	root, err := modfile.ParseLax("go.mod", []byte(read(t, "../../go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	imports := regexp.MustCompile(`_ "(.*)"`).FindStringSubmatch(read(t, "main.go"))
	if len(example.Plugins) != 1 || example.Plugins[0].Module != root.Module.Mod.Path || example.Plugins[0].Import != imports[1] {
		t.Errorf("plugins are %+v, want %s of %s", example.Plugins, imports[1], root.Module.Mod.Path)
	}
}
