// Cost measures what linting costs, beside other programs and beside what cannot be cheaper.
//
//	go run ./cost [-n runs] [-only parts] [-on modules]
//
// The parts are
//
//   - cold: advisorylint with its default rules and nothing in its cache, on three public modules with
//     their tests: against staticcheck with nothing in its own cache, against sqlclosecheck and, on pgx, against
//     the floor (see floor), in processor time (user and system, of the command and what it starts) and
//     in peak memory;
//   - warm: with nothing changed since the last run, and with one package edited, on these modules and, with
//     scale, on the largest repository: against go list, which every linter has to wait for;
//   - compile: that linting compiles nothing when the build cache is empty; this is no measurement
//     and fails when it is not so;
//   - vet: go vet -vettool=advisorylint against plain go vet on pgx, in elapsed time;
//   - scale: a made up repository (see monorepo) of up to 2000 packages, each size against the one before.
//     A wrong number of findings fails.
//
// Commands take turns, so that a busy moment hits all, and figures are medians. They are for people: they
// depend on the machine and its load, so that a figure above its goal is shown and fails nothing. A
// command that does not work does fail.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var parts = []string{"cold", "warm", "compile", "vet", "scale"}

func main() {
	var names []string
	for _, m := range modules {
		names = append(names, m.name)
	}
	runs := flag.Int("n", 3, "runs of each command")
	only := flag.String("only", strings.Join(parts, ","), "the parts to run")
	on := flag.String("on", strings.Join(names, ","), "the modules to lint")
	flag.Parse()
	chosen, err := choose("part", *only, parts)
	if err == nil {
		names, err = choose("module", *on, names)
	}
	if err == nil && *runs < 1 {
		err = fmt.Errorf("%d runs: at least one is needed", *runs)
	}
	if err == nil {
		err = measure(*runs, chosen, named(names))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// choose reads a list of names and says which of them there is not.
func choose(what, list string, known []string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no %s is called %q: there are %s", what, name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

func measure(runs int, parts []string, modules []module) error {
	work, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	t, err := build(work)
	if err != nil {
		return err
	}
	has := func(part string) bool { return slices.Contains(parts, part) }
	if has("cold") || has("warm") || has("compile") || has("vet") {
		for _, m := range modules {
			dir := filepath.Join(work, m.name)
			if err := m.fetch(dir); err != nil {
				return err
			}
			if err := t.onModule(m, dir, runs, has); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	if !has("scale") {
		return nil
	}
	c, err := t.scale(filepath.Join(work, "scale"), sizes, has("warm"))
	if err != nil {
		return err
	}
	return c.run(runs)
}

// onModule runs the parts that are about a module.
func (t tools) onModule(m module, dir string, runs int, has func(part string) bool) error {
	if has("cold") || has("warm") {
		if err := t.lint(m, dir, has("cold"), has("warm")).run(runs); err != nil {
			return err
		}
	}
	if has("compile") {
		if err := t.compilesNothing(m, dir); err != nil {
			return err
		}
	}
	if has("vet") && m.vet {
		return t.goVet(m, dir).run(runs)
	}
	return nil
}
