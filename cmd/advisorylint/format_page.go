package main

import (
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// page makes of a run what the HTML page is written from.
func page(graph *checker.Graph, c chosen, found []finding, troubles []string) (*findings.Page, error) {
	run, err := record(graph, c, found, troubles)
	if err != nil {
		return nil, err
	}
	p := &findings.Page{Run: run, Sites: len(lockSites(graph))}
	var looked []*packages.Package
	for _, act := range graph.Roots {
		looked = append(looked, act.Package)
	}
	p.Looked = paths(looked)
	for _, f := range recorded(graph, c, found) {
		p.More = append(p.More, findings.More{Package: paths([]*packages.Package{f.pkg})[0], Fixes: f.patches()})
	}
	return p, nil
}

// patches gives what each fix makes of its files when it is applied alone, as -diff would print it. A fix
// that -fix would not apply, that of a generated file for one, has none; nor has one whose file has changed.
func (f finding) patches() []findings.Patch {
	var list []findings.Patch
	for i, fix := range f.diag.SuggestedFixes {
		alone := f
		alone.diag.SuggestedFixes = f.diag.SuggestedFixes[i : i+1]
		p := plan{known: map[string]*target{}}
		p.add(alone)
		patch := findings.Patch{Message: fix.Message}
		for _, t := range p.targets {
			if t.render() == nil {
				patch.Files = append(patch.Files, findings.FilePatch{File: t.name, Unified: unified(relative(t.name), t.old, t.new)})
			}
		}
		if len(patch.Files) > 0 && len(patch.Files) == len(p.targets) {
			list = append(list, patch)
		}
	}
	return list
}
