package main

import (
	"strings"
	"testing"
)

// The nolints of calm.go are for the linter, for all linters and for the rule, and there is a
// lint:ignore. nolintlint must see those for the linter at work, and only the needless one idle.
func TestNolintOfLinterAndRule(t *testing.T) {
	p := newProject(t)
	p.config.linters = []string{"nolintlint"}
	r := p.lint(t, "./calm")
	r.want(t, pooledCalm,
		"calm/calm.go:44:29 nolintlint: directive `//nolint:advisorylint // nothing is found here` is unused for linter \"advisorylint\"")
	// A rule is none of golangci-lint's linters, which it mentions.
	if want := "Found unknown linters in //nolint directives: poollock, unlockresult"; !strings.Contains(r.log, want) {
		t.Errorf("log lacks %q, of which the documentation speaks:\n%s", want, r.log)
	}
}

// Without its comment each of the findings is there.
func TestWithoutNolintAllIsReported(t *testing.T) {
	p := newProject(t)
	p.write(t, "calm/calm.go", func(text string) string {
		text = strings.ReplaceAll(text, "//nolint", "// said")
		return strings.ReplaceAll(text, "//lint:ignore", "// said")
	})
	p.lint(t, "./calm").want(t, pooledCalm,
		"calm/calm.go:10:12 poollock", "calm/calm.go:15:12 poollock", "calm/calm.go:20:12 poollock",
		"calm/calm.go:26:12 poollock", "calm/calm.go:32:15 poollock")
}

// A lint:ignore that does nothing is a finding, here as in the command.
func TestIdleIgnoreIsReported(t *testing.T) {
	p := newProject(t)
	p.replace(t, "berth/berth.go", "\t_, err := q.ExecContext", "\t//lint:ignore poollock a caller may well have one connection\n\t_, err := q.ExecContext")
	r := p.lint(t, "./berth")
	r.want(t, "berth/berth.go:17:2 poollock")
	if len(r.issues) == 1 && !strings.Contains(r.issues[0].Text, "matches no finding of poollock") {
		t.Errorf("says %q", r.issues[0].Text)
	}
}
