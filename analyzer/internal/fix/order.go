package fix

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// Reorder moves the defer that gives a connection back above the defer that unlocks on it, so that
// it runs after it. Only defers may stand between the two: they evaluate nothing but arguments, and
// keep their order towards the unlock.
func Reorder(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil {
		return nil
	}
	list, i, ok := s.deferred()
	if !ok {
		return nil
	}
	for _, stmt := range list[i+1:] {
		d, ok := stmt.(*ast.DeferStmt)
		if !ok {
			return nil
		}
		if s.givesBack(d) {
			return s.move(d, list[i])
		}
	}
	return nil
}

// deferred is the list in which the innermost defer around the call stands, and its place there.
func (s *site) deferred() ([]ast.Stmt, int, bool) {
	for n := len(s.path) - 1; n > 0; n-- {
		d, ok := s.path[n].(*ast.DeferStmt)
		if !ok {
			continue
		}
		for i, stmt := range stmts(s.path[n-1]) {
			if stmt == d {
				return stmts(s.path[n-1]), i, true
			}
		}
	}
	return nil, 0, false
}

// on reports whether x is the event's handle: the sending call's, or one that is given to the helper.
func (s *site) on(x ast.Expr) bool {
	if s.e.Inner == nil {
		return types.ExprString(x) == s.e.Handle.Name
	}
	return slices.ContainsFunc(s.e.Call.Args, func(arg ast.Expr) bool { return types.ExprString(arg) == types.ExprString(x) })
}

// givesBack reports whether d does nothing but close or release the event's handle.
func (s *site) givesBack(d *ast.DeferStmt) bool {
	call := d.Call
	if lit, ok := call.Fun.(*ast.FuncLit); ok && len(lit.Body.List) == 1 {
		switch stmt := lit.Body.List[0].(type) {
		case *ast.ExprStmt:
			call, _ = stmt.X.(*ast.CallExpr)
		case *ast.AssignStmt:
			call, _ = stmt.Rhs[0].(*ast.CallExpr)
		}
	}
	if call == nil {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "Close" || sel.Sel.Name == "Release") && s.on(sel.X)
}

// move puts the lines of one statement, with the comments above and beside it, before another's.
func (s *site) move(stmt, before ast.Stmt) []analysis.SuggestedFix {
	from, to := s.lines(stmt)
	at, end := s.lines(before)
	if end > from { // they share a line
		return nil
	}
	return s.fix("Defer the return of the connection before the unlock", []analysis.TextEdit{
		insert(at, s.text(from, to)),
		cut(from, to),
	})
}

// lines is the extent of a statement in whole lines, comment lines directly above it included.
func (s *site) lines(stmt ast.Stmt) (from, to token.Pos) {
	first := s.lineOf(stmt.Pos())
	for first > 1 && bytes.HasPrefix(bytes.TrimSpace(s.line(first-1)), []byte("//")) {
		first--
	}
	last := s.lineOf(stmt.End())
	if last == s.tok.LineCount() {
		return s.tok.LineStart(first), s.tok.Pos(s.tok.Size())
	}
	return s.tok.LineStart(first), s.tok.LineStart(last + 1)
}

func (s *site) line(n int) []byte {
	line, _, _ := bytes.Cut(s.src[s.offset(s.tok.LineStart(n)):], []byte("\n"))
	return line
}
