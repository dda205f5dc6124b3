package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResultsAreCounted(t *testing.T) {
	const passing = `{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
{"Action":"skip","Package":"empty"}
`
	for _, c := range []struct {
		name   string
		events string
		bad    bool
		says   []string
		hides  []string
	}{
		{name: "passing", events: passing,
			says:  []string{"ok   p (2 tests", "1 packages with tests (0 failed), 1 without", "1 tests passed, 0 failed, 1 skipped", "skipped: p TestB"},
			hides: []string{"quiet", "FAIL"}},
		{name: "a failed test", bad: true,
			events: passing + `{"Action":"output","Package":"q","Test":"TestC","Output":"got 1\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"fail","Package":"q"}
`,
			says: []string{"got 1", "FAIL q", "1 tests passed, 1 failed", "failed:  q TestC"}},
		{name: "a panic leaves its test without a result", bad: true,
			events: passing + `{"Action":"output","Package":"q","Test":"TestC","Output":"panic: no\n"}
{"Action":"fail","Package":"q"}
`,
			says: []string{"panic: no", "FAIL q"}},
		{name: "a package that does not build", bad: true,
			events: passing + `{"Action":"build-output","ImportPath":"q","Output":"q.go:1: undefined\n"}
{"Action":"build-fail","ImportPath":"q"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
`,
			says: []string{"q.go:1: undefined", "FAIL q"}},
		{name: "nothing ran", bad: true, events: `{"Action":"skip","Package":"empty"}`},
		{name: "go test could not start", bad: true, events: "go: no such tool\n", says: []string{"go: no such tool"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			total := newTally(&out)
			if err := total.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if total.bad() != c.bad {
				t.Errorf("bad: %v, want %v", total.bad(), c.bad)
			}
			total.printNames()
			text := out.String() + total.String()
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("output lacks %q:\n%s", want, text)
				}
			}
			for _, unwanted := range c.hides {
				if strings.Contains(text, unwanted) {
					t.Errorf("output has %q:\n%s", unwanted, text)
				}
			}
		})
	}
}

func TestEveryModuleIsFoundRootFirst(t *testing.T) {
	root := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	for _, file := range []string{"b/deep/go.mod", "go.mod", "z/go.mod", "ignored/go.mod", "a/notgo.mod"} {
		write(t, filepath.Join(root, file), "module m\n")
	}
	write(t, filepath.Join(root, ".gitignore"), "/ignored\n")
	got, err := modulesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".", "z", "b/deep"}; !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
}

func TestFailingModuleFailsTheTotal(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m_test.go"), `package m

import "testing"

func TestGood(t *testing.T) {}
func TestBad(t *testing.T)  { t.Error("on purpose") }
`)
	var out strings.Builder
	total := newTally(&out)
	if err := testModule(dir, total); err == nil {
		t.Error("no error of a failing go test")
	}
	if total.passed != 1 || total.failed != 1 || !strings.Contains(out.String(), "on purpose") {
		t.Errorf("%d passed, %d failed, want one of each and what it said:\n%s", total.passed, total.failed, &out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
