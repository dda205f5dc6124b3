package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		seconds []int
		want    float64
	}{
		{[]int{9}, 9},
		{[]int{9, 1, 2}, 2},
		{[]int{8, 1, 2, 4}, 3},
	} {
		var usages []usage
		for _, s := range c.seconds {
			usages = append(usages, usage{cpu: time.Duration(s) * time.Second})
		}
		if got := median(usages, cpu.of); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.seconds, got, c.want)
		}
	}
}

func TestLineSaysWhetherTheGoalIsMet(t *testing.T) {
	for _, c := range []struct {
		row           row
		base, subject float64
		want, not     string
	}{
		{row{"pgx", cpu, "floor", "lint", 1.30}, 1, 1.2, "floor 1.00 s, lint 1.20 s: ratio 1.20, within the goal of 1.30", ""},
		{row{"pgx", cpu, "floor", "lint", 1.30}, 1, 1.4, "ratio 1.40, ABOVE the goal of 1.30", ""},
		{row{"pgx", cpu, "cold", "edited", 0}, 2, 1, "ratio 0.50 (", "goal"},
		{row{"pgx", memory, "", "lint", 160e6}, 0, 150e6, "lint 150 MB, within the goal of 160 MB", "ratio"},
		{row{"pgx", memory, "", "lint", 160e6}, 0, 170e6, "lint 170 MB, ABOVE the goal of 160 MB", "ratio"},
	} {
		got := c.row.line(c.base, c.subject, 3)
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%q, want %q and no %q", got, c.want, c.not)
		}
	}
}

func TestRowsAreOfCommandsThatThereAre(t *testing.T) {
	scale, err := tools{}.scale(t.TempDir(), []int{100, 200}, true)
	if err != nil {
		t.Fatal(err)
	}
	contests := []contest{scale}
	for _, m := range modules {
		contests = append(contests, tools{}.lint(m, m.name, true, true), tools{}.lint(m, m.name, true, false),
			tools{}.lint(m, m.name, false, true), tools{}.goVet(m, m.name))
	}
	for _, c := range contests {
		names := map[string]bool{"": true}
		for _, cmd := range c.commands {
			if names[cmd.name] {
				t.Errorf("%q is there twice, or has no name", cmd.name)
			}
			names[cmd.name] = true
		}
		for _, r := range c.rows {
			if !names[r.base] || !names[r.subject] || r.subject == "" {
				t.Errorf("row %q beside %q: no such command", r.subject, r.base)
			}
		}
	}
}

func TestMeasureCountsWhatACommandTakes(t *testing.T) {
	// The child of the shell counts, too.
	c := command{name: "busy", dir: t.TempDir(), env: []string{"FOUND=5"}, found: 5,
		argv: []string{"/bin/sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; exit $FOUND"}}
	u, err := c.run()
	if err != nil {
		t.Fatalf("findings are no failure: %v", err)
	}
	if u.cpu <= 0 || u.elapsed <= 0 || u.memory < 100_000 || u.memory > 1_000_000_000 {
		t.Errorf("usage %+v: want some of each, and the memory of a shell", u)
	}
	failing := command{name: "failing", argv: []string{"/bin/sh", "-c", "echo why >&2; exit 1"}, found: 5}
	if _, err := failing.run(); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("error %v, want what the command said", err)
	}
	wrong := command{name: "wrong", argv: []string{"true"}, check: func() error { return errors.New("no findings") }}
	if _, err := wrong.run(); err == nil {
		t.Error("what the check says is no error")
	}
}

func TestACommandFindsItsState(t *testing.T) {
	dir := t.TempDir()
	cache, file := filepath.Join(dir, "cache"), filepath.Join(dir, "a.go")
	if err := os.MkdirAll(filepath.Join(cache, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	// Fails unless the cache is gone and the file has a comment at its end.
	c := command{name: "state", dir: dir, argv: []string{"/bin/sh", "-c", "[ ! -e cache ] && tail -n 1 a.go | grep '^// Edited' >>texts"},
		empty: cache, edit: file}
	for range 2 {
		if _, err := c.run(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "package a\n" {
		t.Errorf("the edit stays: %q, %v", text, err)
	}
	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file's time changed: %v, %v", after, err)
	}
	texts, err := os.ReadFile(filepath.Join(dir, "texts"))
	if lines := strings.Fields(strings.ReplaceAll(string(texts), " ", "_")); err != nil || len(lines) != 2 || lines[0] == lines[1] {
		t.Errorf("edits %q, %v: want two that differ", texts, err)
	}
}

func TestCopiedFilesCanBeWritten(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(filepath.Join(from, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "sub", "a.go"), []byte("package a\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(to, from); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, "sub", "a.go"))
	if err != nil || info.Mode().Perm() != 0o644 || info.Size() != 10 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestCompiledPackagesAreSeen(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module a\n", "a.go": "package a\n\nconst A = 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		argv []string
		want int
	}{
		{[]string{"go", "list", "-deps", "./..."}, 0},
		{[]string{"go", "build", "./..."}, 1},
	} {
		if _, err := (command{dir: dir, argv: c.argv, env: []string{"GOCACHE=" + cache}}).run(); err != nil {
			t.Fatal(err)
		}
		if n, err := archives(cache); err != nil || n != c.want {
			t.Errorf("%v: %d compiled packages, %v, want %d", c.argv, n, err, c.want)
		}
	}
}

func TestExpectComparesRuleByRule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "findings.json")
	text := `{"a": {"poollock": [{}, {}]}, "b": {"poollock": [{}], "lockleak": [{}]}}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := expect(file, map[string]int{"poollock": 3, "lockleak": 1}); err != nil {
		t.Error(err)
	}
	err := expect(file, map[string]int{"poollock": 2, "lockleak": 2})
	if err == nil || !strings.Contains(err.Error(), "poollock:3") {
		t.Errorf("error %v, want what was found", err)
	}
}

func TestChooseKnowsTheNames(t *testing.T) {
	if got, err := choose("part", "scale,cold", parts); err != nil || !slices.Equal(got, []string{"scale", "cold"}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := choose("part", "hot", parts); err == nil || !strings.Contains(err.Error(), `no part is called "hot"`) {
		t.Errorf("error %v, want the name", err)
	}
}
