// Package nogotest runs the rules in Bazel's nogo: the driver of rules_go, built from the sources of that
// module as rules_go's own BUILD.bazel lists them, on packages in processes of their own. Bazel itself is
// not needed for that, and not here.
package nogotest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/advisorylint/advisorylint"
	root   = "../../.." // of this repository, from this folder
)

// builder is rules_go's tool of that name, which writes the main file of a nogo. Built once.
var builder string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nogotest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builder = filepath.Join(dir, "builder")
	if err := buildBuilder(builder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildBuilder compiles rules_go's builder. Its init wants what Bazel links in; the value matters only
// where it lists the standard library's labels, which nothing here does.
func buildBuilder(to string) error {
	files, err := sources("builder_srcs")
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", to, "-ldflags=-X main.rulesGoStdlibPrefix=@io_bazel_rules_go//stdlib:"}, files...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build rules_go's builder: %w\n%s", err, out)
	}
	return nil
}

// sources lists the files of a target in BUILD.bazel of rules_go's builders, where several programs
// share one folder.
func sources(target string) ([]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/bazelbuild/rules_go").Output()
	if err != nil {
		return nil, fmt.Errorf("find rules_go: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "go/tools/builders")
	data, err := os.ReadFile(filepath.Join(dir, "BUILD.bazel"))
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(data), `name = "`+target+`"`)
	list, _, closed := strings.Cut(rest, "visibility")
	if !ok || !closed {
		return nil, fmt.Errorf("%s/BUILD.bazel has no target %s", dir, target)
	}
	var files []string
	for _, m := range regexp.MustCompile(`"(\w+\.go)"`).FindAllStringSubmatch(list, -1) {
		if m[1] != "path_windows.go" { // chosen by select() elsewhere
			files = append(files, filepath.Join(dir, m[1]))
		}
	}
	return files, nil
}

// buildNogo makes a nogo of the analyzers in packages and the configuration in config ("" for none),
// by rules_go's own steps: its builder generates the main file, which is compiled with its sources.
//
// They import golang.org/x/tools/internal/facts, which Bazel allows by a patch of visibility. For the go
// command, who may import an internal package goes by import paths, so the program gets one below
// golang.org/x/tools.
func buildNogo(t *testing.T, packages []string, config string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := sources("nogo_srcs")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		copyFile(t, file, filepath.Join(dir, filepath.Base(file)), nil)
	}
	copyFile(t, "../go.sum", filepath.Join(dir, "go.sum"), nil)
	copyFile(t, "../go.mod", filepath.Join(dir, "go.mod"), func(text string) string {
		text = strings.Replace(text, "module "+module+"/internal/places", "module golang.org/x/tools/nogo", 1)
		return strings.Replace(text, "=> ../..", "=> "+absolute(t, root), 1)
	})
	args := []string{"gennogomain", "-output", filepath.Join(dir, "nogo_main_generated.go")}
	for _, p := range packages {
		args = append(args, "-analyzer_importpath", p)
	}
	if config != "" {
		name := filepath.Join(dir, "nogo.json")
		if err := os.WriteFile(name, []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-config", name)
	}
	run(t, dir, builder, args...)
	run(t, dir, "go", "build", "-o", "nogo", ".")
	return filepath.Join(dir, "nogo")
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
}

func copyFile(t *testing.T, from, to string, change func(string) string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		changed := change(string(data))
		if changed == string(data) {
			t.Fatalf("%s is not as expected", from)
		}
		data = []byte(changed)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// page is docs/integrations/nogo.md.
func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs/integrations/nogo.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// listed gives the import paths of the labels that the page lists for nogo's deps.
func listed(t *testing.T) []string {
	t.Helper()
	label := regexp.MustCompile(`"@com_github_advisorylint_advisorylint//(analyzer/\w+)"`)
	var paths []string
	for _, m := range label.FindAllStringSubmatch(page(t), -1) {
		if path := module + "/" + m[1]; !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}
