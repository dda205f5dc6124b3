package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/advisorylint/advisorylint/bench/monorepo"
)

// sizes are those of the made up repository, in packages. Each is twice the one before, so that a ratio of 2 is
// growth in step.
var sizes = []int{250, 500, 1000, 2000}

// scale compares the linter with itself on repositories of growing size and, when warm, on the largest with go list.
func (t tools) scale(work string, sizes []int, warm bool) (contest, error) {
	var c contest
	var before command
	var largest monorepo.Repository
	for i, n := range sizes {
		dir := filepath.Join(work, fmt.Sprint(n))
		repo, err := monorepo.Write(dir, n)
		if err != nil {
			return c, err
		}
		out := filepath.Join(work, "findings.json")
		lint := t.linter(fmt.Sprintf("%d packages", n), dir, dir+"-cache")
		lint.argv = append(lint.argv[:1:1], "-format=json", "-out="+out, "./...")
		lint.empty = dir + "-cache"
		lint.check = func() error { return expect(out, repo.Findings) }
		c.commands = append(c.commands, lint)
		if i == 0 {
			for _, q := range []quantity{cpu, elapsed, memory} {
				c.rows = append(c.rows, row{"scale", q, "", lint.name, 0})
			}
		} else {
			c.rows = append(c.rows,
				row{"scale", cpu, before.name, lint.name, 2.2},
				row{"scale", elapsed, before.name, lint.name, 0},
				row{"scale", memory, before.name, lint.name, 1.5})
		}
		before, largest = lint, repo
	}
	if warm {
		c.again("scale", before, largest.Leaf, largest.Base)
	}
	return c, nil
}

// expect reads findings from a file and says whether they are as many of each rule as there are to be.
func expect(file string, want map[string]int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var packages map[string]map[string][]json.RawMessage
	if err := json.Unmarshal(text, &packages); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	got := map[string]int{}
	for _, rules := range packages {
		for rule, list := range rules {
			got[rule] += len(list)
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("found %v, want %v", got, want)
	}
	return nil
}
