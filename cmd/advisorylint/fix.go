package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// fixAll applies the fixes of the findings, or prints them with -diff, and gives the findings that
// are still there. A finding's first fix is the one that is applied, all of it or nothing; where two
// fixes touch, the first in the file is applied and the other left for another run, which sees what
// became of its place.
func fixAll(o *options, found []finding) ([]finding, error) {
	p := plan{known: map[string]*target{}}
	for _, f := range found {
		p.add(f)
	}
	// All results are there before the first file is written: a fix that cannot be printed costs nothing.
	for _, t := range p.targets {
		if err := t.render(); err != nil {
			return nil, err
		}
	}
	still := p.left
	for i, t := range p.targets {
		if o.diff {
			fmt.Print(unified(relative(t.name), t.old, t.new))
			still = found
		} else if err := replaceFile(t.name, t.new); err != nil {
			return nil, fmt.Errorf("%w; %d of %s fixed", err, i, findings.Count(len(p.targets), "file"))
		}
	}
	newTextPrinter(os.Stderr, o.context).list(p.left)
	fmt.Fprintln(os.Stderr, p.sum())
	return still, nil
}

// plan is the fixes that go together.
type plan struct {
	known    map[string]*target // by file name
	targets  []*target          // those of known with edits, in order of their first finding
	fixes    []fixed            // applied
	applied  int                // findings that they fix
	left     []finding          // not fixed by this run
	unfixed  int                // those of left that have no fix
	touching int                // those of left whose fix touches one that is applied
}

// fixed is a finding with the edits of its fix.
type fixed struct {
	finding finding
	edits   []edit
}

// cures reports whether x's fix is f's too: the same edits, of another rule at the same place. The same
// text put in for two findings of one rule is two changes.
func (x fixed) cures(f finding, edits []edit) bool {
	return x.finding.rule != f.rule && x.finding.diag.Pos == f.diag.Pos && slices.Equal(x.edits, edits)
}

// add takes f's fix into the plan, or f into those left.
func (p *plan) add(f finding) {
	edits := p.edits(f)
	if edits == nil {
		p.unfixed++
		p.left = append(p.left, f)
		return
	}
	if slices.ContainsFunc(p.fixes, func(x fixed) bool { return x.cures(f, edits) }) {
		p.applied++
		return
	}
	for _, e := range edits {
		if e.target.touched(e) {
			p.touching++
			p.left = append(p.left, f)
			return
		}
	}
	p.applied++
	p.fixes = append(p.fixes, fixed{f, edits})
	for _, e := range edits {
		e.target.take(e)
		if !slices.Contains(p.targets, e.target) {
			p.targets = append(p.targets, e.target)
		}
	}
}

// edits gives the edits of f's first fix as offsets into files; nil when there is none that may be
// applied: no fix, a generated file, one that is not the package's source (cgo's output) or belongs to
// a module that is not the user's.
func (p *plan) edits(f finding) []edit {
	if foreign := f.pkg.Module != nil && !f.pkg.Module.Main; foreign || len(f.diag.SuggestedFixes) == 0 {
		return nil
	}
	var list []edit
	for _, te := range f.diag.SuggestedFixes[0].TextEdits {
		t := p.target(f, te)
		if t == nil {
			return nil
		}
		tf := f.pkg.Fset.File(te.Pos)
		end := te.End
		if !end.IsValid() {
			end = te.Pos
		}
		list = append(list, edit{t, tf.Offset(te.Pos), tf.Offset(end), string(te.NewText)})
	}
	return list
}

// target finds the file of an edit among those of the plan, or makes it.
func (p *plan) target(f finding, te analysis.TextEdit) *target {
	tf := f.pkg.Fset.File(te.Pos)
	if tf == nil || !slices.Contains(f.pkg.GoFiles, tf.Name()) {
		return nil
	}
	if t := p.known[tf.Name()]; t != nil {
		return t
	}
	for _, syntax := range f.pkg.Syntax {
		if f.pkg.Fset.File(syntax.FileStart) == tf && !ast.IsGenerated(syntax) {
			t := &target{
				name: tf.Name(), size: tf.Size(), pkg: f.pkg,
				syntax: syntax, imports: tf.Offset(importsEnd(syntax)),
			}
			p.known[t.name] = t
			return t
		}
	}
	return nil
}

// importsEnd is where the import declarations of a file end, and its other declarations begin.
func importsEnd(file *ast.File) token.Pos {
	end := file.Name.End()
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			end = g.End()
		}
	}
	return end
}

// sum says what this run does and what it leaves.
func (p *plan) sum() string {
	text := "nothing to fix"
	if p.applied > 0 {
		text = findings.Count(p.applied, "fix") + " in " + findings.Count(len(p.targets), "file")
	}
	if p.unfixed > 0 {
		text += "; " + findings.Count(p.unfixed, "finding") + " without a fix"
	}
	if p.touching > 0 {
		text += "; " + findings.Count(p.touching, "fix") + " touching another left for the next run"
	}
	return text
}
