package gate

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
)

// FromSyntax says before type checking what Of may say after it, of a package that imports nothing of which
// facts are known: whether it may be anything but Closed, and whether it has lock text itself, which other
// packages may use without any fact. It errs towards true.
func FromSyntax(path string, files []*ast.File) (open, text bool) {
	if Standard(path) {
		return false, false
	}
	if mentions(files) {
		return true, true
	}
	if client.Library(client.Path(path)) {
		return false, false
	}
	for _, f := range files {
		if importsClient(f) || makesContexts(f) {
			return true, false
		}
	}
	return false, false
}

// Never says from a package's source, without parsing all of it, that FromSyntax would say no to both. It errs
// towards false.
func Never(path string, texts [][]byte) bool {
	return Standard(path) || !slices.ContainsFunc(texts, mayOpen)
}

// signs are what Text does not see: the names of detachers, which are selected from package context; what is read
// beside the source; and, before a literal is unquoted, an escape that may be the space behind SET.
var signs = func() (list [][]byte) {
	for name := range detachers {
		list = append(list, []byte("."+name))
	}
	for _, s := range []string{"//go:embed ", `set\t`, `set\n`, `Set\t`, `Set\n`, `SET\t`, `SET\n`} {
		list = append(list, []byte(s))
	}
	return list
}()

// mayOpen reports whether a file has anything that FromSyntax looks for, be it in a comment.
func mayOpen(text []byte) bool {
	for _, sign := range signs {
		if bytes.Contains(text, sign) {
			return true
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	return err != nil || importsClient(f) || Text(string(text))
}

func importsClient(f *ast.File) bool {
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil && (client.LeasePath(path) || client.RedisPath(path) || clientPath(path)) {
			return true
		}
	}
	return false
}

// makesContexts reports whether a function with parameters and results uses one of the names by which
// contexts are made.
func makesContexts(f *ast.File) bool {
	found := false
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Type.Params.NumFields() == 0 || fn.Type.Results.NumFields() == 0 {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && detachers[sel.Sel.Name] {
				found = true
			}
			return !found
		})
	}
	return found
}
