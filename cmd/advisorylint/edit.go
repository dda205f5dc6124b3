package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// target is a file with the edits that it gets.
type target struct {
	name    string
	size    int // as it was when it was parsed
	pkg     *packages.Package
	syntax  *ast.File
	imports int // offset at which the imports end

	edits    []edit
	old, new []byte
}

// edit replaces the bytes from start to end.
type edit struct {
	target     *target
	start, end int
	text       string
}

// touched reports whether e shares a byte or a border with an edit that is there. Lines that are put
// in among the imports are no conflict, wherever they are.
func (t *target) touched(e edit) bool {
	for _, x := range t.edits {
		if e.start <= x.end && x.start <= e.end && !(t.imported(e) && t.imported(x)) {
			return true
		}
	}
	return false
}

// imported reports whether e only puts text in among the imports.
func (t *target) imported(e edit) bool { return e.start == e.end && e.end <= t.imports }

// take adds e to the edits. An import that two fixes add is added once.
func (t *target) take(e edit) {
	if !t.imported(e) || !slices.Contains(t.edits, e) {
		t.edits = append(t.edits, e)
	}
}

// render reads the file and computes what it becomes, as gofmt writes it.
func (t *target) render() error {
	var err error
	if t.old, err = os.ReadFile(t.name); err != nil {
		return err
	}
	if len(t.old) != t.size {
		return fmt.Errorf("%s has changed since it was looked at; nothing was fixed", relative(t.name))
	}
	slices.SortStableFunc(t.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range t.edits {
		out = append(append(out, t.old[at:e.start]...), e.text...)
		at = e.end
	}
	out = append(out, t.old[at:]...)
	if t.new, err = t.tidy(out); err != nil {
		return fmt.Errorf("the fixes of %s do not parse, nothing was fixed: %w", relative(t.name), err)
	}
	return nil
}

// tidy formats src and removes the imports whose last use the edits took away.
func (t *target) tidy(src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, t.name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	removed := false
	for _, spec := range t.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		imported := t.pkg.Imports[path]
		if err != nil || imported == nil {
			continue // C, for one
		}
		name, explicit := imported.Name, ""
		if spec.Name != nil {
			name, explicit = spec.Name.Name, spec.Name.Name
		}
		if name == "_" || name == "." || used[name] {
			continue
		}
		removed = astutil.DeleteNamedImport(fset, file, explicit, path) || removed
	}
	if !removed {
		return format.Source(src)
	}
	var out bytes.Buffer
	err = format.Node(&out, fset, file)
	return out.Bytes(), err
}

// replaceFile puts content in the place of a file in one step, so that a full disk or an interrupt
// leaves the old content. A symbolic link stays one.
func replaceFile(name string, content []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	was, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".advisorylint-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name()) // ignore error: the first one counts
		}
	}()
	_, err = tmp.Write(content)
	if cerr := tmp.Chmod(was.Mode().Perm()); err == nil {
		err = cerr
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
