//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The example is built by the command that it is for. What that command clones is a repository of the
// source that is in the module cache, and the plugin is the one here, not that of a release.
func TestCustomBuildsTheExample(t *testing.T) {
	m := golangciLint(t)
	clone := filepath.Join(t.TempDir(), "golangci-lint")
	if err := os.CopyFS(clone, os.DirFS(m.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "--all", "--force"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "--message=source"}, {"tag", m.Version},
	} {
		git := exec.Command("git", args...)
		git.Dir = clone
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	p := newProject(t)
	p.write(t, ".custom-gcl.yml", func(string) string {
		return regexp.MustCompile(`(?m)^    version: .*$`).ReplaceAllString(read(t, docs+"golangci-lint/custom-gcl.yml"), "    path: "+root)
	})
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.file://"+clone+".insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "https://github.com/golangci/golangci-lint.git")
	if r := p.exec(t, "custom"); r.code != 0 {
		t.Fatalf("golangci-lint custom:\n%s%s", r.out, r.log)
	}

	old := binary
	t.Cleanup(func() { binary = old })
	binary = filepath.Join(p.dir, "custom-gcl")
	if out := p.exec(t, "version").out; !strings.Contains(out, m.Version+"-custom-gcl-") {
		t.Errorf("version is %q", out)
	}
	p.lint(t).want(t, byDefault()...)
}
