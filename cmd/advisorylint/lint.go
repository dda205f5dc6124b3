package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
)

// lint runs the chosen rules on the packages that the patterns name, and gives the exit code.
func lint(o *options) int {
	if err := o.chooseFormat(); err != nil {
		return fail(err)
	}
	rules := analyzer.All()
	choice, err := o.prepare()
	if err == nil && o.debug {
		err = talkative(rules)
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
	if err := governed(choice, subjects(pkgs)); err != nil {
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
	return present(o, newChosen(choice), pkgs, graph)
}

// present prints what was found, or fixes it.
func present(o *options, c chosen, pkgs []*packages.Package, graph *checker.Graph) int {
	found, troubles := collect(graph, c)
	troubles = append(complaints(pkgs), troubles...)
	for _, t := range troubles {
		fmt.Fprintf(os.Stderr, "advisorylint: %s\n", t)
	}
	switch {
	case o.format != formatText:
		if err := o.write(graph, c, found, troubles); err != nil {
			return fail(err)
		}
		if o.format == formatGitHub {
			newTextPrinter(os.Stderr, o.context).sum(found, pkgs)
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
