package main

import (
	"fmt"
	"go/token"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/docs"
	"github.com/advisorylint/advisorylint/internal/findings"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// record makes of a run what formats are written from.
func record(graph *checker.Graph, c chosen, found []finding, troubles []string) (*findings.Run, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	version, _ := build()
	run := &findings.Run{
		Version:  version,
		Dir:      dir,
		Roots:    []findings.Root{{ID: "%SRCROOT%", Dir: sourceRoot(dir)}},
		Troubles: troubles,
		Compared: c.compared,
	}
	dependencies, err := dependencyRoots()
	if err != nil {
		return nil, err
	}
	run.Roots = append(run.Roots, dependencies...)
	if run.Rules, err = documented(graph, c); err != nil {
		return nil, err
	}
	for i, rule := range run.Rules {
		run.Rules[i].Severity = severity(c.in(place{dir: dir}), rule.Name)
	}
	var sources findings.Sources
	for _, f := range recorded(graph, c, found) {
		run.Findings = append(run.Findings, f.record(&sources))
	}
	return run, nil
}

// recorded gives the findings of a run and those that the source keeps back, in order of position.
func recorded(graph *checker.Graph, c chosen, found []finding) []finding {
	return inOrder(slices.Concat(found, held(graph, c)))
}

// sourceRoot is what paths of sources are relative to: the repository in an action of GitHub, where both
// annotations and code scanning take them for that, and the working directory elsewhere.
func sourceRoot(dir string) string {
	checkout := os.Getenv("GITHUB_WORKSPACE")
	if rel, err := filepath.Rel(checkout, dir); checkout != "" && err == nil && filepath.IsLocal(rel) {
		return checkout
	}
	return dir
}

// dependencyRoots is where dependencies are, under govulncheck's names.
func dependencyRoots() ([]findings.Root, error) {
	names := []string{"GOMODCACHE", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var roots []findings.Root
	for i, dir := range strings.SplitN(string(out), "\n", len(names)) {
		roots = append(roots, findings.Root{ID: "%" + names[i] + "%", Dir: strings.TrimSpace(dir)})
	}
	return roots, nil
}

// documented gives the rules that ran, with what the suite says of them.
func documented(graph *checker.Graph, c chosen) ([]findings.Rule, error) {
	ran := map[string]bool{}
	for _, act := range graph.Roots {
		if name := act.Analyzer.Name; c.inForce(act.Package).Runs(name) != settings.Off {
			ran[name] = true
		}
	}
	var rules []findings.Rule
	for _, a := range analyzer.All() {
		if !ran[a.Name] {
			continue
		}
		page, err := docs.Rule(a.Name)
		if err == nil {
			page, err = absolute(page, a.URL)
		}
		if err != nil {
			return nil, err
		}
		rules = append(rules, findings.Rule{
			Name: a.Name, Summary: summary(a), About: about(a), URL: a.URL,
			Page: page, PageText: renderMarkdown(page, 100, palette{}),
		})
	}
	return rules, nil
}

// about is the first paragraph of a rule's documentation after the line that names it.
func about(a *analysis.Analyzer) string {
	_, rest, _ := strings.Cut(a.Doc, "\n\n")
	paragraph, _, _ := strings.Cut(rest, "\n\n")
	return oneLine(paragraph)
}

// link is the address of a link in Markdown.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// absolute makes links work outside the folder that a page is in.
func absolute(page, address string) (string, error) {
	base, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return link.ReplaceAllStringFunc(page, func(text string) string {
		target, err := base.Parse(link.FindStringSubmatch(text)[1])
		if err != nil {
			return text // no link after all
		}
		return "](" + target.String() + ")"
	}), nil
}

// record takes a finding apart from its package.
func (f finding) record(sources *findings.Sources) findings.Finding {
	fset := f.pkg.Fset
	out := findings.Finding{
		Rule: f.rule, Severity: f.severity, Message: f.diag.Message,
		Span:       sources.Span(f.at, fset.Position(f.diag.End)),
		Line:       sources.Line(f.at.Filename, f.at.Line),
		Known:      f.known,
		Suppressed: f.held,
	}
	for _, r := range f.diag.Related {
		step := findings.Step{Span: out.Span, Message: r.Message} // without a place of its own it is the finding's
		if r.Pos.IsValid() {
			step.Span = sources.Span(fset.Position(r.Pos), fset.Position(r.End))
		}
		out.Related = append(out.Related, step)
	}
	for _, fix := range f.diag.SuggestedFixes {
		if edits := recordEdits(fset, fix.TextEdits, sources); edits != nil {
			out.Fixes = append(out.Fixes, findings.Fix{Message: fix.Message, Edits: edits})
		}
	}
	return out
}

// recordEdits gives the edits of a fix; nil when it edits a file that was made of another: who reads the
// finding has that one.
func recordEdits(fset *token.FileSet, edits []analysis.TextEdit, sources *findings.Sources) []findings.Edit {
	var list []findings.Edit
	for _, e := range edits {
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		start := fset.PositionFor(e.Pos, false)
		if start != fset.Position(e.Pos) {
			return nil
		}
		list = append(list, findings.Edit{Span: sources.Span(start, fset.PositionFor(end, false)), New: string(e.NewText)})
	}
	return list
}
