package fix

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// imported gives the name under which the package at importPath can be used at p, with the edit
// that imports it when the file does not; ok is false when its name means something else at p.
func (s *site) imported(importPath string, p token.Pos) (name string, edits []analysis.TextEdit, ok bool) {
	for _, spec := range s.e.File.Imports {
		if specPath(spec) != importPath {
			continue
		}
		obj := s.pass.TypesInfo.PkgNameOf(spec)
		if obj == nil || obj.Name() == "_" || obj.Name() == "." {
			continue
		}
		return obj.Name(), nil, s.visible(obj, p)
	}
	name = path.Base(importPath)
	if s.lookup(name, p) != nil || s.pass.Pkg.Scope().Lookup(name) != nil {
		return "", nil, false
	}
	return name, s.addImport("", importPath), true
}

// importedOrAlias is imported for a package of the runtime, whose name a program may well have given
// to something of its own: it is then imported under another.
func (s *site) importedOrAlias(importPath string, p token.Pos) (name string, edits []analysis.TextEdit, ok bool) {
	if name, edits, ok = s.imported(importPath, p); ok {
		return name, edits, true
	}
	if name = "advisory" + path.Base(importPath); !s.unused(name) {
		return "", nil, false
	}
	return name, s.addImport(name, importPath), true
}

// has reports whether the file imports importPath under a name that can be used at p.
func (s *site) has(importPath string, p token.Pos) (name string, ok bool) {
	name, edits, ok := s.imported(importPath, p)
	return name, ok && len(edits) == 0
}

func specPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value)
	return p
}

// addImport puts importPath where gofmt and goimports would have it: in order, in the group of the
// file's import block whose imports are of its sort (standard library or not), or in one of its own.
// Its name is alias, unless that is "".
func (s *site) addImport(alias, importPath string) []analysis.TextEdit {
	line := strings.TrimPrefix(alias+" ", " ") + strconv.Quote(importPath)
	block := s.importBlock()
	switch {
	case block == nil:
		return []analysis.TextEdit{insert(s.lineEnd(s.e.File.Name.End()), "\n\nimport "+line)}
	case !block.Lparen.IsValid():
		return intoBlock(block.Specs[0].(*ast.ImportSpec), line, importPath)
	case len(block.Specs) == 0:
		return []analysis.TextEdit{insert(block.Lparen+1, "\n\t"+line+"\n")}
	}
	group := s.group(block, standard(importPath))
	first, last := block.Specs[0].(*ast.ImportSpec), block.Specs[len(block.Specs)-1]
	switch {
	case group != nil:
	case standard(importPath):
		return []analysis.TextEdit{insert(start(first), line+"\n\n\t")}
	default:
		return []analysis.TextEdit{insert(s.lineEnd(last.End()), "\n\n\t"+line)}
	}
	for _, spec := range group {
		if specPath(spec) > importPath {
			return []analysis.TextEdit{insert(start(spec), line+"\n\t")}
		}
	}
	return []analysis.TextEdit{insert(s.lineEnd(group[len(group)-1].End()), "\n\t"+line)}
}

// importBlock is the import declaration to add to: the first in parentheses, else the first that
// does not import C, whose comment must stay above it alone.
func (s *site) importBlock() (block *ast.GenDecl) {
	for _, d := range s.e.File.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if g.Lparen.IsValid() {
			return g
		}
		if block == nil && specPath(g.Specs[0].(*ast.ImportSpec)) != "C" {
			block = g
		}
	}
	return block
}

// intoBlock turns the declaration of one import into a block of two.
func intoBlock(spec *ast.ImportSpec, line, importPath string) []analysis.TextEdit {
	was := specPath(spec)
	gap := "\n\t"
	if standard(was) != standard(importPath) {
		gap = "\n\n\t"
	}
	if standard(importPath) && !standard(was) || standard(importPath) == standard(was) && importPath < was {
		return []analysis.TextEdit{insert(spec.Pos(), "(\n\t"+line+gap), insert(spec.End(), "\n)")}
	}
	return []analysis.TextEdit{insert(spec.Pos(), "(\n\t"), insert(spec.End(), gap+line+"\n)")}
}

// group is the first run of specs without an empty line between them that has one of the wanted
// sort, nil when there is none.
func (s *site) group(block *ast.GenDecl, std bool) (group []*ast.ImportSpec) {
	ofSort := func(spec *ast.ImportSpec) bool { return standard(specPath(spec)) == std }
	for _, d := range block.Specs {
		spec := d.(*ast.ImportSpec)
		if n := len(group); n > 0 && s.lineOf(start(spec)) > s.lineOf(group[n-1].End())+1 {
			if slices.ContainsFunc(group, ofSort) {
				return group
			}
			group = nil
		}
		group = append(group, spec)
	}
	if !slices.ContainsFunc(group, ofSort) {
		return nil
	}
	return group
}

// start is where a spec begins with its comment.
func start(spec *ast.ImportSpec) token.Pos {
	if spec.Doc != nil {
		return spec.Doc.Pos()
	}
	return spec.Pos()
}

// standard tells the standard library's paths by their first element, as goimports does.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// newError is an expression for a new error with that text, in the file's own style: with errors
// where the file has it or has neither, with fmt where it has only that.
func (s *site) newError(text string, p token.Pos) (expr string, edits []analysis.TextEdit, ok bool) {
	quoted := strconv.Quote(text)
	if name, ok := s.has("errors", p); ok {
		return name + ".New(" + quoted + ")", nil, true
	}
	if name, ok := s.has("fmt", p); ok {
		return name + ".Errorf(" + quoted + ")", nil, true
	}
	name, edits, ok := s.imported("errors", p)
	return name + ".New(" + quoted + ")", edits, ok
}

// isError reports whether t is the type error.
func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}
