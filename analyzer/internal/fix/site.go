// Package fix builds the suggested fixes of the rules. A fix edits one place and at most the import
// list, leaves a program that compiles and is formatted as gofmt would, and is not offered where
// that is not certain: no fix is better than a wrong one.
package fix

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// site is the place of an event in the source.
type site struct {
	pass *analysis.Pass
	e    *lockflow.Event
	path []ast.Node // from the file down to e.Call
	tok  *token.File
	src  []byte
}

// newSite finds e in its file; nil when the source is not what was parsed (cgo, overlays).
func newSite(pass *analysis.Pass, e *lockflow.Event) *site {
	if e.Call == nil || e.File == nil {
		return nil
	}
	tok := pass.Fset.File(e.File.Package)
	read := pass.ReadFile
	if read == nil {
		read = os.ReadFile // Bazel's nogo leaves the field out; the sources are among its action's inputs
	}
	src, err := read(tok.Name())
	if err != nil || len(src) != tok.Size() {
		return nil
	}
	s := &site{pass: pass, e: e, tok: tok, src: src}
	if s.path = pathTo(e.File, e.Call); s.path == nil {
		return nil
	}
	return s
}

// pathTo lists the nodes from file down to target.
func pathTo(file *ast.File, target ast.Node) (path []ast.Node) {
	ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
		if n == target {
			path = append(slices.Clone(stack), n)
		}
		return path == nil && n.Pos() <= target.Pos() && target.End() <= n.End()
	})
	return path
}

// sends reports whether e.Call is a method call on e.Send.Handle, so that its parts can be edited.
func (s *site) sends() (*ast.SelectorExpr, bool) {
	sel, ok := ast.Unparen(s.e.Call.Fun).(*ast.SelectorExpr)
	if !ok || s.e.Inner != nil || s.e.Send.Handle == nil || s.e.Send.SQL == nil {
		return nil, false
	}
	return sel, sel.X == s.e.Send.Handle && sel.Sel.Name == s.e.Send.Method
}

// parent is the node around n, which is on the path.
func (s *site) parent(n ast.Node) ast.Node {
	if i := slices.Index(s.path, n); i > 0 {
		return s.path[i-1]
	}
	return nil
}

// function is the innermost function around the call and its type.
func (s *site) function() (ast.Node, *ast.FuncType) {
	for _, n := range slices.Backward(s.path) {
		switch f := n.(type) {
		case *ast.FuncLit:
			return f, f.Type
		case *ast.FuncDecl:
			return f, f.Type
		}
	}
	return nil, nil
}

// outermost is the declaration around the call.
func (s *site) outermost() ast.Node { return s.path[min(1, len(s.path)-1)] }

// statement is the innermost statement around the call that stands in a list, the list, and its
// place there. Statements inside nested functions are in lists of their own.
func (s *site) statement() (list []ast.Stmt, i int, ok bool) {
	for n := len(s.path) - 1; n > 0; n-- {
		stmt, isStmt := s.path[n].(ast.Stmt)
		if !isStmt {
			continue
		}
		if list := stmts(s.path[n-1]); list != nil {
			if i := slices.Index(list, stmt); i >= 0 {
				return list, i, true
			}
		}
	}
	return nil, 0, false
}

// stmts is the statement list of a block or clause.
func stmts(n ast.Node) []ast.Stmt {
	switch b := n.(type) {
	case *ast.BlockStmt:
		return b.List
	case *ast.CaseClause:
		return b.Body
	case *ast.CommClause:
		return b.Body
	}
	return nil
}

func (s *site) offset(p token.Pos) int { return s.tok.Offset(p) }

func (s *site) text(from, to token.Pos) string {
	return string(s.src[s.offset(from):s.offset(to)])
}

func (s *site) node(n ast.Node) string { return s.text(n.Pos(), n.End()) }

// lineOf is the line of the file that p is on, whatever a directive in the file says.
func (s *site) lineOf(p token.Pos) int { return s.tok.PositionFor(p, false).Line }

// indent is the white space with which the line of p begins.
func (s *site) indent(p token.Pos) string {
	line := s.text(s.tok.LineStart(s.lineOf(p)), p)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// lineEnd is the end of the line on which p stands when nothing but a comment follows p there, and
// p itself otherwise.
func (s *site) lineEnd(p token.Pos) token.Pos {
	rest, _, _ := bytes.Cut(s.src[s.offset(p):], []byte("\n"))
	if t := bytes.TrimSpace(rest); bytes.HasPrefix(t, []byte("//")) {
		return p + token.Pos(len(bytes.TrimRight(rest, " \t\r")))
	}
	return p
}

// object is the object that an expression names, nil when it is not a plain name.
func (s *site) object(x ast.Expr) types.Object {
	if id, ok := ast.Unparen(x).(*ast.Ident); ok {
		return s.pass.TypesInfo.ObjectOf(id)
	}
	return nil
}

// mentions reports whether n names obj.
func (s *site) mentions(n ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && s.pass.TypesInfo.ObjectOf(id) == obj {
			found = true
		}
		return !found
	})
	return found
}

// visible reports whether obj is what its name means at p.
func (s *site) visible(obj types.Object, p token.Pos) bool {
	return obj != nil && s.lookup(obj.Name(), p) == obj
}

// lookup is what name means at p, nil when nothing.
func (s *site) lookup(name string, p token.Pos) types.Object {
	scope := s.pass.Pkg.Scope().Innermost(p)
	if scope == nil {
		scope = s.pass.Pkg.Scope()
	}
	_, obj := scope.LookupParent(name, p)
	return obj
}

// unused reports whether name occurs nowhere in the file or the package's scope.
func (s *site) unused(name string) bool {
	found := s.pass.Pkg.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil
	ast.Inspect(s.e.File, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return !found
}

// orphans reports whether taking n away leaves a local variable or an import without a use, which
// does not compile. What is kept of n is put elsewhere.
func (s *site) orphans(n ast.Node, kept ...ast.Node) bool {
	count := func(uses map[types.Object]int, root ast.Node, by int) {
		ast.Inspect(root, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if obj := s.pass.TypesInfo.Uses[id]; obj != nil {
					uses[obj] += by
				}
			}
			return true
		})
	}
	all, gone := map[types.Object]int{}, map[types.Object]int{}
	count(all, s.e.File, 1)
	count(gone, n, 1)
	for _, k := range kept {
		count(gone, k, -1)
	}
	for obj, k := range gone {
		if all[obj] > k || n.Pos() <= obj.Pos() && obj.Pos() < n.End() {
			continue
		}
		if _, isImport := obj.(*types.PkgName); isImport || s.isLocal(obj) {
			return true
		}
	}
	return false
}

// isLocal reports whether obj is a variable that must be used: neither a parameter nor a result, a
// field or a package's.
func (s *site) isLocal(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.Kind() == types.LocalVar
}

// fix makes a suggested fix of edits to one place, merged into one that leaves the file formatted,
// and of edits to the import list. A result that does not parse is no fix.
func (s *site) fix(message string, edits []analysis.TextEdit, imports ...analysis.TextEdit) []analysis.SuggestedFix {
	slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int { return cmp.Compare(a.Pos, b.Pos) })
	after := s.apply(edits)
	clean, err := format.Source(after)
	if err != nil {
		return nil
	}
	// A file that was not formatted before is not ours to format.
	if was, err := format.Source(s.src); err == nil && bytes.Equal(was, s.src) {
		after = clean
	}
	from := commonPrefix(s.src, after)
	tail := commonSuffix(s.src[from:], after[from:])
	edit := analysis.TextEdit{
		Pos:     s.tok.Pos(from),
		End:     s.tok.Pos(len(s.src) - tail),
		NewText: after[from : len(after)-tail],
	}
	return []analysis.SuggestedFix{{Message: message, TextEdits: append([]analysis.TextEdit{edit}, imports...)}}
}

// apply gives the source with edits, which are sorted; those at one place come in their own order.
func (s *site) apply(edits []analysis.TextEdit) []byte {
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, s.src[at:s.offset(e.Pos)]...)
		out = append(out, e.NewText...)
		at = s.offset(e.End)
	}
	return append(out, s.src[at:]...)
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func replace(n ast.Node, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: n.Pos(), End: n.End(), NewText: []byte(text)}
}

func insert(p token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: p, End: p, NewText: []byte(text)}
}

func cut(from, to token.Pos) analysis.TextEdit { return analysis.TextEdit{Pos: from, End: to} }
