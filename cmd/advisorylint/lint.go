package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/findings"
)

// lint runs the chosen rules on the packages that the patterns name, and gives the exit code.
func lint(o *options) int {
	if err := o.chooseFormat(); err != nil {
		return fail(err)
	}
	rules := append(analyzer.All(), analyzer.Sites)
	choice, _, err := o.prepare()
	if err == nil {
		err = o.openBaseline()
	}
	if err == nil && o.debug == debugAll {
		err = talkative(rules)
	}
	if err != nil {
		return fail(err)
	}

	guard(rules)
	var times *timing
	if o.debug == debugTiming {
		times = startTiming()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	progress := startProgress(os.Stderr, "listing packages")
	defer progress.end()
	start := time.Now()
	c := newChosen(choice)
	c.compared = o.known != nil
	pkgs, graph, err := inspect(ctx, o, c, rules, progress, times)
	progress.end()
	if err != nil {
		return fail(err)
	}
	times.print(os.Stderr)
	if o.debug == debugAll {
		fmt.Fprintf(os.Stderr, "advisorylint: %s in %s\n", findings.Count(len(pkgs), "package"), time.Since(start).Round(time.Millisecond))
	}
	found, troubles := collect(graph, c)
	troubles = append(complaints(pkgs), troubles...)
	for _, t := range troubles {
		fmt.Fprintf(os.Stderr, "advisorylint: %s\n", t)
	}
	if o.writeBaseline != "" {
		return o.save(found, pkgs, troubles)
	}
	return present(o, c, pkgs, graph, found, troubles)
}

// present prints what was found and is not known, or fixes it.
func present(o *options, c chosen, pkgs []*packages.Package, graph *checker.Graph, all []finding, troubles []string) int {
	found, gone, err := o.fresh(graph, c, all, troubles)
	if err != nil {
		return fail(err)
	}
	for _, g := range gone {
		fmt.Fprintf(os.Stderr, "advisorylint: %s\n", g)
	}
	text := newTextPrinter(os.Stderr, o.context)
	text.known = len(all) - len(found)
	sites := lockSites(graph)
	if o.sites {
		printSites(os.Stderr, sites, paletteOf(os.Stderr))
	}
	switch {
	case o.format != formatText:
		if err := o.write(graph, c, o.shown(graph, c, all, found), troubles); err != nil {
			return fail(err)
		}
		if o.format == formatGitHub {
			text.sum(found, pkgs, len(sites))
		}
	case o.fix || o.diff:
		left, err := fixAll(o, found)
		if err != nil {
			return fail(err)
		}
		found = left
		if text.known > 0 {
			fmt.Fprintf(os.Stderr, "%s left alone\n", text.knownOnes())
		}
	default:
		text.print(found, pkgs, len(sites))
	}
	switch {
	case len(troubles) > 0:
		return exitFailed
	case len(found) > 0:
		return exitFindings
	}
	return exitClean
}
