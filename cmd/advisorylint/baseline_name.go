package main

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/baseline"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// mark is what two findings must have in common to be one.
type mark struct {
	rule, message string
	at            token.Position
}

func (f finding) mark() mark { return mark{f.rule, f.diag.Message, f.at} }

// names gives files the names that a baseline in dir has for them.
type names struct {
	dir  string
	real map[string]string // directories without symbolic links
}

func namesFrom(file string) (*names, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	n := &names{real: map[string]string{}}
	n.dir = n.resolve(filepath.Dir(file))
	return n, nil
}

func (n *names) resolve(dir string) string {
	real, ok := n.real[dir]
	if !ok {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir // not there: what is to be read or written says so
		}
		n.real[dir] = real
	}
	return real
}

// required is how the names of files begin that belong to modules which are required: by the package's path,
// since the module cache is elsewhere on each machine, and has a version in its names.
const required = "module:"

// of gives the name of a package's file.
func (n *names) of(p *packages.Package, file string) string {
	if p.Module != nil && p.Module.Version != "" {
		return required + path.Join(p.PkgPath, filepath.Base(file))
	}
	file = filepath.Join(n.resolve(filepath.Dir(file)), filepath.Base(file))
	rel, err := filepath.Rel(n.dir, file)
	if err != nil { // another volume
		rel = file
	}
	return filepath.ToSlash(rel)
}

// entries gives what the baseline knows each finding by.
func (n *names) entries(found []finding) []baseline.Entry {
	var list []baseline.Entry
	for _, f := range found {
		list = append(list, n.entry(f))
	}
	return list
}

func (n *names) entry(f finding) baseline.Entry {
	e := baseline.Entry{Rule: f.rule}
	file := f.at.Filename
	tf := f.pkg.Fset.File(f.diag.Pos)
	for _, syntax := range f.pkg.Syntax {
		if tf != nil && f.pkg.Fset.File(syntax.FileStart) == tf {
			file = source(f.pkg, syntax)
			e.In = baseline.In(syntax, f.diag.Pos)
			e.At = baseline.At(f.pkg.Fset, syntax, f.diag.Pos, f.diag.End)
		}
	}
	e.File = n.of(f.pkg, file)
	return e
}

// source is the file among a package's that the syntax is of. What a //line comment in it names may be in any
// place. The output of cgo has a comment of that kind before its first line, for the file that it was made of.
func source(p *packages.Package, syntax *ast.File) string {
	name := p.Fset.File(syntax.FileStart).Name()
	if slices.Contains(p.GoFiles, name) {
		return name
	}
	origin := p.Fset.Position(syntax.Package).Filename
	for _, file := range p.GoFiles {
		if filepath.Base(file) == filepath.Base(origin) {
			return file
		}
	}
	return origin
}

// looked is which files were looked at.
type looked struct {
	dir   string                       // the baseline's
	files map[string]*packages.Package // by name
	paths map[string]string
}

func (n *names) lookedAt(graph *checker.Graph) looked {
	l := looked{n.dir, map[string]*packages.Package{}, map[string]string{}}
	for _, act := range graph.Roots {
		p := act.Package
		for _, file := range p.GoFiles {
			name := n.of(p, file)
			l.files[name], l.paths[name] = p, file
		}
	}
	return l
}

// tells reports whether this run can tell that an entry no longer occurs: its file was looked at, by its rule,
// or is not there any more. Other packages, files of other build tags and rules that did not run are no matter
// of this run.
func (l looked) tells(c chosen, e baseline.Entry) bool {
	if !slices.Contains(driver.Rules(), e.Rule) {
		return true
	}
	if p := l.files[e.File]; p != nil {
		f := c.inForce(p)
		return f.Runs(e.Rule) != settings.Off && !f.Excludes(l.paths[e.File])
	}
	if strings.HasPrefix(e.File, required) {
		return false
	}
	_, err := os.Lstat(filepath.Join(l.dir, filepath.FromSlash(e.File)))
	return os.IsNotExist(err)
}
