package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// binary is the golangci-lint under test, which TestMain builds.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "golangcilint")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// What the environment of the tests says about workspaces does not concern the modules they make.
	os.Setenv("GOWORK", "off")
	binary = filepath.Join(dir, "golangci-lint")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// project is a copy of the programs in testdata/harbour, with a configuration and a cache.
type project struct {
	dir, cache string
	config     config
}

// config is what differs between tests in .golangci.yml.
type config struct {
	settings string   // of the plugin, as YAML in one line
	linters  []string // beside the plugin
	more     string   // YAML at the end of the file
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{dir: filepath.Join(t.TempDir(), "harbour"), cache: t.TempDir()}
	if err := os.CopyFS(p.dir, os.DirFS("testdata/harbour")); err != nil {
		t.Fatal(err)
	}
	return p
}

// text is the configuration file. Nothing of what golangci-lint found is left out of what it tells.
func (c config) text() string {
	settings := c.settings
	if settings == "" {
		settings = "{}"
	}
	return `version: "2"
linters:
  default: none
  enable: [` + strings.Join(append([]string{"advisorylint"}, c.linters...), ", ") + `]
  settings:
    custom:
      advisorylint:
        type: module
        settings: ` + settings + `
issues: {max-issues-per-linter: 0, max-same-issues: 0, uniq-by-line: false}
` + c.more
}

// run is one run of golangci-lint.
type run struct {
	code   int
	issues []issue
	out    string // its standard output
	log    string // what it says on its standard error
}

type issue struct {
	FromLinter, Text, Severity string
	Pos                        struct {
		Filename     string
		Line, Column int
	}
}

// String is the place and the rule, or the whole text of other linters' issues.
func (i issue) String() string {
	what := i.FromLinter + ": " + i.Text
	if i.FromLinter == "advisorylint" {
		what, _, _ = strings.Cut(i.Text, ": ")
	}
	return fmt.Sprintf("%s:%d:%d %s", filepath.ToSlash(i.Pos.Filename), i.Pos.Line, i.Pos.Column, what)
}

// lint runs golangci-lint with the project's configuration.
func (p *project) lint(t *testing.T, args ...string) run {
	t.Helper()
	p.write(t, ".golangci.yml", func(string) string { return p.config.text() })
	r := p.exec(t, append([]string{"run"}, args...)...)
	if r.code > 1 || strings.Contains(r.log, "level=error") {
		t.Fatalf("golangci-lint ends with %d:\n%s", r.code, r.log)
	}
	return r
}

// exec runs a command of golangci-lint in the project.
func (p *project) exec(t *testing.T, args ...string) run {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	if args[0] == "run" {
		args = append([]string{"run", "--allow-parallel-runners", "--output.json.path=" + report}, args[1:]...)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOLANGCI_LINT_CACHE="+p.cache, "GL_DEBUG=goanalysis/issues/cache,goanalysis/facts/cache")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := run{code: cmd.ProcessState.ExitCode(), out: out.String(), log: strings.ReplaceAll(log.String(), `\"`, `"`)}
	if data, err := os.ReadFile(report); err == nil {
		var out struct{ Issues []issue }
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatalf("the report is not JSON: %v\n%s", err, data)
		}
		r.issues = out.Issues
	}
	return r
}

// write replaces a file of the project by what change makes of it.
func (p *project) write(t *testing.T, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	text := change(string(old))
	if text == string(old) && name != ".golangci.yml" {
		t.Fatalf("%s stays as it was", name)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace changes one text of a file.
func (p *project) replace(t *testing.T, name, old, new string) {
	t.Helper()
	p.write(t, name, func(text string) string { return strings.Replace(text, old, new, 1) })
}

// harbourLog is the log without what it says of the standard library's facts.
func (r run) harbourLog() string {
	lines := strings.SplitAfter(r.log, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "[goanalysis/facts/cache]") && !strings.Contains(line, "berth")
	}), "")
}

// want compares the issues of a run with those of want, in any order.
func (r run) want(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, i := range r.issues {
		got = append(got, i.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("issues\n\t%s\nwant\n\t%s\nlog:\n%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), r.harbourLog())
	}
	if found := r.code == 1; found != (len(want) > 0) {
		t.Errorf("exit code %d with %d issues", r.code, len(want))
	}
}
