package baseline

import (
	"bytes"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// In names the declaration round pos: a function, with its receiver's type if it has one; the function
// literals in it are part of it. Outside of functions it is the names that the declaration declares, and
// between declarations "".
func In(file *ast.File, pos token.Pos) string {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if within(d, pos) || d.Doc != nil && within(d.Doc, pos) {
				return funcName(d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if within(s, pos) {
					return specName(s)
				}
			}
		}
	}
	return ""
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

// funcName writes a method as Shelf.Take or (*Shelf).Take, without type parameters.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t, pointer := ast.Unparen(d.Recv.List[0].Type), false
	if star, ok := t.(*ast.StarExpr); ok {
		t, pointer = ast.Unparen(star.X), true
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	name := ""
	if id, ok := ast.Unparen(t).(*ast.Ident); ok {
		name = id.Name
	}
	if pointer {
		name = "(*" + name + ")"
	}
	return name + "." + d.Name.Name
}

func specName(s ast.Spec) string {
	switch s := s.(type) {
	case *ast.ValueSpec:
		var names []string
		for _, id := range s.Names {
			names = append(names, id.Name)
		}
		return strings.Join(names, ", ")
	case *ast.TypeSpec:
		return s.Name.Name
	}
	return ""
}

// At writes what stands from pos to end, a call as a rule, in one line and without comments: however it is
// laid out, its text is the same. What is in the bodies of function literals is left out, since an edit there
// is none of the call. A finding at a comment has the comment's text. An end that is not valid stands for that of
// the call round pos.
func At(fset *token.FileSet, file *ast.File, pos, end token.Pos) string {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if within(c, pos) {
				return shorten(strings.Join(strings.Fields(c.Text), " "))
			}
		}
	}
	n := node(file, pos, end)
	if n == nil {
		return ""
	}
	var out bytes.Buffer
	var err error
	withoutBodies(n, func() { err = printer.Fprint(&out, fset, n) })
	if err != nil {
		return ""
	}
	return shorten(text(out.Bytes()))
}

// node is the syntax from pos to end, or the call that it is part of, without leaving the statement for it.
func node(file *ast.File, pos, end token.Pos) ast.Node {
	if !end.IsValid() || end < pos {
		end = pos
	}
	path, exact := astutil.PathEnclosingInterval(file, pos, end)
	if len(path) == 0 {
		return nil
	}
	if !exact || pos == end {
		for _, n := range path {
			switch n.(type) {
			case *ast.CallExpr:
				return n
			case *ast.BlockStmt, *ast.FuncLit:
				return small(path[0])
			}
		}
	}
	return small(path[0])
}

// small gives n, or nil when it is a file or a block, whose text would be no mark of anything.
func small(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.File, *ast.BlockStmt, *ast.FuncDecl, *ast.FuncLit:
		return nil
	}
	return n
}

// withoutBodies calls do while the function literals in n have empty bodies.
func withoutBodies(n ast.Node, do func()) {
	bodies := map[*ast.FuncLit]*ast.BlockStmt{}
	ast.Inspect(n, func(x ast.Node) bool {
		lit, ok := x.(*ast.FuncLit)
		if ok {
			bodies[lit] = lit.Body
		}
		return !ok
	})
	defer func() {
		for lit, body := range bodies {
			lit.Body = body
		}
	}()
	for lit := range bodies {
		lit.Body = &ast.BlockStmt{Lbrace: lit.Body.Lbrace, Rbrace: lit.Body.Lbrace + 1}
	}
	do()
}
