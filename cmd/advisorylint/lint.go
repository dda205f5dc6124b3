package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// lint runs the chosen rules on the packages that the patterns name, and gives the exit code.
func lint(o *options) int {
	rules, err := o.selected()
	if err == nil && o.json && (o.fix || o.diff) {
		err = errors.New("-json lists the fixes and applies none: choose it or -fix or -diff")
	}
	if err == nil && o.debug {
		err = talkative(rules)
	}
	if err == nil && o.dir != "" {
		err = os.Chdir(o.dir)
	}
	if err != nil {
		return fail(err)
	}

	guard(rules)
	progress := startProgress(os.Stderr, "loading packages")
	defer progress.end()
	start := time.Now()
	pkgs, err := load(o)
	if err != nil {
		progress.end()
		return fail(err)
	}
	loaded := time.Now()
	progress.say("looking at locks")
	graph, err := checker.Analyze(rules, subjects(pkgs), nil)
	progress.end()
	if err != nil {
		return fail(err)
	}
	if o.debug {
		fmt.Fprintf(os.Stderr, "advisorylint: %s: loaded in %s, looked at in %s\n", count(len(pkgs), "package"),
			loaded.Sub(start).Round(time.Millisecond), time.Since(loaded).Round(time.Millisecond))
	}
	return present(o, pkgs, graph)
}

// present prints what was found, or fixes it.
func present(o *options, pkgs []*packages.Package, graph *checker.Graph) int {
	found, troubles := collect(graph)
	troubles = append(complaints(pkgs), troubles...)
	for _, t := range troubles {
		fmt.Fprintf(os.Stderr, "advisorylint: %s\n", t)
	}
	switch {
	case o.json:
		if err := graph.PrintJSON(os.Stdout); err != nil {
			return fail(err)
		}
	case o.fix || o.diff:
		left, err := fixAll(o, found)
		if err != nil {
			return fail(err)
		}
		found = left
	default:
		newTextPrinter(os.Stderr, o.context).print(found, pkgs)
	}
	switch {
	case len(troubles) > 0:
		return exitFailed
	case len(found) > 0:
		return exitFindings
	}
	return exitClean
}
