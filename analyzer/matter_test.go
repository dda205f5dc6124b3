package analyzer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
)

// What is said from the source before it is parsed agrees with what is said after, of all that the fixtures
// import: every client library and what those stand on.
func TestNeverIsNotMore(t *testing.T) {
	roots, err := packages.Load(&packages.Config{Dir: "../testdata/src", Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	closed, open := 0, 0
	packages.Visit(roots, nil, func(p *packages.Package) {
		var texts [][]byte
		var files []*ast.File
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			texts, files = append(texts, text), append(files, file)
		}
		follow, text := analyzer.Matters(p.PkgPath, files)
		switch never := analyzer.NeverMatters(p.PkgPath, texts); {
		case never && (follow || text):
			t.Errorf("%s matters", p.PkgPath)
		case never && strings.Contains(p.PkgPath, "."):
			closed++
		case follow || text:
			open++
		}
	})
	if closed < 50 || open < 50 {
		t.Errorf("of modules, %d packages never matter and %d do", closed, open)
	}
}
