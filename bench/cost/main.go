// Cost measures what linting costs, on the source of pgx: a module of the size of a service, full
// of what the linter looks at.
//
//	go run ./cost [-n runs]
//
// It compares, in turns so that a busy moment hits both, and by medians:
//
//   - advisorylint with its default rules against the floor (see floor), against staticcheck with nothing
//     in its own cache and against sqlclosecheck, in processor time (user and system, of the command and
//     what it starts) and in peak memory;
//   - go vet -vettool=advisorylint against plain go vet, with nothing changed since the last run
//     and after an edit, in elapsed time.
//
// The figures are for people: they depend on the machine and its load, so that a figure above its
// goal is shown and fails nothing. A command that does not work does fail.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// pgxVersion is what is linted. The version is fixed, so that figures of two days compare.
const pgxVersion = "v5.13.0"

func main() {
	runs := flag.Int("n", 5, "runs of each command")
	flag.Parse()
	if err := measure(*runs); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func measure(runs int) error {
	if runs < 1 {
		return fmt.Errorf("%d runs: at least one is needed", runs)
	}
	work, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	tools, err := build(work)
	if err != nil {
		return err
	}
	source := filepath.Join(work, "pgx")
	if err := copyPgx(source); err != nil {
		return err
	}
	for _, c := range comparisons(tools, source) {
		if err := c.run(runs, source); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

// comparisons are the rows of the result.
func comparisons(t tools, source string) []comparison {
	// The one check that pgx does not pass is left out: go vet keeps no answer that has a finding,
	// so plain vet would start anew each time.
	vet := command{name: "go vet", argv: []string{"go", "vet", "-composites=false", "./..."}}
	vettool := command{name: "go vet -vettool", argv: []string{"go", "vet", "-vettool=" + t.linter, "./..."}}
	lint := command{name: "advisorylint", argv: []string{t.linter, "./..."}, found: 3}
	cache := filepath.Join(filepath.Dir(source), "staticcheck-cache")
	return []comparison{
		{
			title:   "lint",
			base:    command{name: "floor", argv: []string{t.floor, "./..."}},
			subject: lint,
			ratios:  []ratio{{cpu, 0.60}, {memory, 0.40}},
		},
		{
			title:   "lint",
			base:    command{name: "sqlclosecheck", argv: []string{t.sqlclosecheck, "./..."}, found: 3},
			subject: lint,
			ratios:  []ratio{{cpu, 0.40}, {memory, 0.40}},
		},
		{
			title: "lint",
			base: command{name: "staticcheck", argv: []string{t.staticcheck, "./..."}, found: 1,
				env: "STATICCHECK_CACHE=" + cache},
			subject: lint,
			ratios:  []ratio{{cpu, 0.25}, {memory, 1}},
			before:  func() error { return os.RemoveAll(cache) },
		},
		{title: "vet, nothing changed", base: vet, subject: vettool, ratios: []ratio{{elapsed, 1.10}}},
		{title: "vet, root package edited", base: vet, subject: vettool, ratios: []ratio{{elapsed, 1.10}},
			before: edits(filepath.Join(source, "conn.go"))},
	}
}

// edits returns a function that changes a file each time it is called, in a comment.
func edits(file string) func() error {
	n := 0
	return func() error {
		n++
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		// The time makes the text new to the build cache as well, which outlives this process.
		_, err = fmt.Fprintf(f, "\n// Edit %d at %s.\n", n, time.Now().Format(time.RFC3339Nano))
		return errors.Join(err, f.Close())
	}
}
