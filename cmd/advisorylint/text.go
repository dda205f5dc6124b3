package main

import (
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// textPrinter writes findings for people.
type textPrinter struct {
	w       io.Writer
	context int // lines of source round a finding, negative for none
	known   int // findings that a baseline keeps back
	paint   palette
}

func newTextPrinter(f *os.File, context int) *textPrinter {
	return &textPrinter{w: f, context: context, paint: paletteOf(f)}
}

// print writes the findings, each with the trail that leads to it, and the sum.
func (t *textPrinter) print(found []finding, pkgs []*packages.Package, sites int) {
	t.list(found)
	t.sum(found, pkgs, sites)
}

// sum says how much was found and looked at, and when nothing was found at how many places there are locks: a
// program without any is not a program without mistakes.
func (t *textPrinter) sum(found []finding, pkgs []*packages.Package, sites int) {
	seen := paths(subjects(pkgs))
	unseen := slices.DeleteFunc(paths(pick(pkgs, unsound)), func(path string) bool { return slices.Contains(seen, path) })
	if len(seen) == 0 && len(unseen) > 0 {
		return // what went wrong has been said, and there is nothing to add up
	}
	sum := "no findings"
	if len(found) > 0 {
		sum = findings.Count(len(found), "finding") + " in " + findings.Count(len(paths(packagesOf(found))), "package")
	}
	if t.known > 0 {
		sum += "; " + t.knownOnes() + " kept back"
	}
	sum += "; " + findings.Count(len(seen), "package") + " looked at"
	if len(unseen) > 0 {
		sum += ", " + findings.Count(len(unseen), "package") + " not"
	}
	switch {
	case len(found) > 0:
	case sites == 0:
		sum += "; no lock in them"
	default:
		sum += "; " + findings.Count(sites, "lock site") + " in them"
	}
	fmt.Fprintln(t.w, sum)
}

func (t *textPrinter) knownOnes() string { return findings.Count(t.known, "known one") }

func (t *textPrinter) list(found []finding) {
	for _, f := range found {
		fset := f.pkg.Fset
		fmt.Fprintf(t.w, "%s: %s %s\n", t.paint.place(position(f.at)), f.diag.Message, t.paint.rule("("+f.name()+")"))
		t.source(f.at, fset.Position(f.diag.End))
		for _, r := range f.diag.Related {
			if !r.Pos.IsValid() {
				fmt.Fprintf(t.w, "\t%s\n", r.Message)
				continue
			}
			fmt.Fprintf(t.w, "\t%s: %s\n", t.paint.place(position(fset.Position(r.Pos))), r.Message)
		}
	}
}

// name is the finding's rule, with the severity that the user chose for it.
func (f finding) name() string {
	if f.severity == "" {
		return f.rule
	}
	return f.rule + ", " + string(f.severity)
}

// source shows the lines from at to end and those round them. A file that cannot be read any more
// has none.
func (t *textPrinter) source(at, end token.Position) {
	if t.context < 0 {
		return
	}
	data, err := os.ReadFile(at.Filename)
	if err != nil {
		return
	}
	if end.Filename != at.Filename || end.Line < at.Line {
		end = at
	}
	for i, line := range strings.Split(string(data), "\n") {
		if n := i + 1; at.Line-t.context <= n && n <= end.Line+t.context {
			fmt.Fprintf(t.w, "%d\t%s\n", n, line)
		}
	}
}

func packagesOf(found []finding) []*packages.Package {
	var list []*packages.Package
	for _, f := range found {
		list = append(list, f.pkg)
	}
	return list
}

// position writes a position with its path relative to the working directory.
func position(at token.Position) string {
	at.Filename = relative(at.Filename)
	return at.String()
}

// relative shortens a path, or what starts with one, when it lies below the working directory.
func relative(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
