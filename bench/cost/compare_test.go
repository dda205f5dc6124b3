package main

import (
	"os"
	"path/filepath"
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
	c := comparison{title: "lint"}
	for subject, want := range map[float64]string{1.2: "within the goal of 1.30", 1.4: "ABOVE the goal of 1.30"} {
		if got := c.line(ratio{cpu, 1.30}, 1, subject, 3); !strings.Contains(got, want) {
			t.Errorf("ratio %v: %q, want %q", subject, got, want)
		}
	}
}

func TestMeasureCountsWhatACommandTakes(t *testing.T) {
	// The child of the shell counts, too.
	c := command{name: "busy", argv: []string{"/bin/sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; exit $FOUND"}, env: "FOUND=5", found: 5}
	u, err := c.measure(t.TempDir())
	if err != nil {
		t.Fatalf("findings are no failure: %v", err)
	}
	if u.cpu <= 0 || u.elapsed <= 0 || u.memory < 100_000 || u.memory > 1_000_000_000 {
		t.Errorf("usage %+v: want some of each, and the memory of a shell", u)
	}
	failing := command{name: "failing", argv: []string{"/bin/sh", "-c", "echo why >&2; exit 1"}, found: 5}
	if _, err := failing.measure(t.TempDir()); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("error %v, want what the command said", err)
	}
}

func TestCopiedFilesCanBeEdited(t *testing.T) {
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
	file := filepath.Join(to, "sub", "a.go")
	edit := edits(file)
	var texts []string
	for range 2 {
		if err := edit(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if !strings.HasPrefix(texts[0], "package a\n") || !strings.HasPrefix(texts[1], texts[0]) || texts[0] == texts[1] {
		t.Errorf("edits: %q, want each to add to the file", texts)
	}
}
