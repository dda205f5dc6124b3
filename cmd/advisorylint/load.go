package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/check"
	"github.com/advisorylint/advisorylint/internal/findings"
)

// inspect runs the rules on the packages that the patterns name, and on all that they import what the rules
// stand on.
func inspect(ctx context.Context, o *options, chosen chosen, rules []*analysis.Analyzer, line *progress, times *timing) ([]*packages.Package, *checker.Graph, error) {
	patterns := o.args
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	c := check.Config{Patterns: patterns, Tests: o.tests, Analyzers: rules, Matters: analyzer.Matters, Never: analyzer.NeverMatters}
	var refused error
	far := &looking{since: map[*packages.Package]time.Time{}}
	c.Began, c.Ran = far.begin, times.ran
	c.Done = func(p *packages.Package, took time.Duration) {
		times.done(p, took)
		far.end(p)
	}
	var err error
	if c.Cache, err = o.openCache(chosen, rules); err != nil {
		return nil, nil, err
	}
	c.Listed = func(roots []*packages.Package, packages int) error {
		far.listed(packages)
		line.ask(far.text)
		times.listed()
		if len(roots) == 0 || nowhere(roots) {
			refused = fmt.Errorf("%s matches no package%s", strings.Join(patterns, " "), outside())
		} else {
			refused = governed(chosen.choice, roots)
		}
		return refused
	}
	if o.tags != "" {
		c.BuildFlags = []string{"-tags=" + o.tags}
	}
	pkgs, graph, err := check.Run(ctx, c)
	switch {
	case refused != nil:
		return nil, nil, refused
	case ctx.Err() != nil:
		return nil, nil, errors.New("stopped")
	case err != nil:
		return nil, nil, errors.New(goMessage(err))
	}
	seen := map[*packages.Package]bool{}
	for _, p := range subjects(pkgs) {
		seen[p] = true
	}
	graph.Roots = slices.DeleteFunc(graph.Roots, func(a *checker.Action) bool { return !seen[a.Package] })
	return pkgs, graph, nil
}

// nowhere reports whether the only package is go list's complaint of a pattern with dots outside a module.
func nowhere(pkgs []*packages.Package) bool {
	return len(pkgs) == 1 && len(pkgs[0].Errors) > 0 &&
		strings.HasPrefix(pkgs[0].Errors[0].Msg, "pattern ") && outside() != ""
}

// outside says that there is no module here; "" when there is one.
func outside() string {
	out, err := exec.Command("go", "env", "GOMOD", "GOWORK").Output()
	if err != nil {
		return ""
	}
	for _, file := range strings.Fields(string(out)) {
		if file != os.DevNull && file != "off" {
			return ""
		}
	}
	return ": there is no go.mod in this directory or above it"
}

// goMessage is what the go command said, of an error that tells its exit status first, on one line.
func goMessage(err error) string {
	text := err.Error()
	if _, stderr, ok := strings.Cut(text, "stderr: "); ok {
		text = stderr
	}
	return oneLine(strings.TrimPrefix(strings.TrimSpace(text), "go: "))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sound reports whether p can be looked at: it and all that it imports compile.
func sound(p *packages.Package) bool { return !unsound(p) }

func unsound(p *packages.Package) bool { return p.IllTyped || len(p.Errors) > 0 }

// subjects gives the packages to look at. Where a package has tests, that is its variant with the test
// files, which has all of its files, as go vet does it: a finding may show in one of the two only,
// and a lint:ignore for it would match nothing in the other.
func subjects(pkgs []*packages.Package) []*packages.Package {
	tested := map[string]bool{}
	for _, p := range pkgs {
		if sound(p) && p.ForTest == p.PkgPath {
			tested[p.PkgPath] = true
		}
	}
	return pick(pkgs, func(p *packages.Package) bool {
		return sound(p) && (p.ForTest != "" || !tested[p.PkgPath])
	})
}

func pick(pkgs []*packages.Package, keep func(*packages.Package) bool) []*packages.Package {
	return slices.DeleteFunc(slices.Clone(pkgs), func(p *packages.Package) bool { return !keep(p) })
}

// complaints is what keeps packages from being looked at, one line for each package at fault.
func complaints(pkgs []*packages.Package) []string {
	var list []string
	said := map[string]bool{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		// A package and its test variant have the same errors.
		if len(p.Errors) > 0 && !said[p.Errors[0].Error()] && !passedOn(p) {
			said[p.Errors[0].Error()] = true
			list = append(list, describe(p))
		}
	})
	return list
}

// passedOn reports whether p's errors only say that something that it imports has some.
func passedOn(p *packages.Package) bool {
	for _, e := range p.Errors {
		if !strings.HasPrefix(e.Msg, "could not import ") {
			return false
		}
	}
	for _, dep := range p.Imports {
		if len(dep.Errors) > 0 {
			return true
		}
	}
	return false
}

// describe is a package's first error and how many more there are.
func describe(p *packages.Package) string {
	first := p.Errors[0]
	text := oneLine(first.Msg)
	if first.Pos != "" && first.Pos != "-" {
		text = relative(first.Pos) + ": " + text
	} else if !strings.Contains(text, p.PkgPath) {
		text = p.PkgPath + ": " + text
	}
	if more := len(p.Errors) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", findings.Count(more, "more error"))
	}
	return text
}

// paths gives the import paths of packages, each once. A package, its test variant and its external
// test are one to a reader.
func paths(pkgs []*packages.Package) []string {
	var list []string
	seen := map[string]bool{}
	for _, p := range pkgs {
		path := strings.TrimSuffix(p.PkgPath, "_test")
		if !seen[path] {
			seen[path] = true
			list = append(list, path)
		}
	}
	return list
}
