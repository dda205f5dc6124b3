package fix

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// OnTx sends a transaction-level lock on the transaction that the function has begun on the same
// handle, and still has open, when it was sent beside it.
func OnTx(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	return rebind(pass, e, "Lock in the transaction", opening{
		open:  []string{"Begin", "BeginTx", "Beginx", "BeginTxx"},
		close: []string{"Commit", "Rollback"},
	})
}

// OnConn sends a session-level lock or unlock on the connection that the function has pinned from
// the same pool, and still has.
func OnConn(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	return rebind(pass, e, "Use the pinned connection", opening{
		open:  []string{"Conn", "Connx", "Acquire"},
		close: []string{"Close", "Release", "Hijack"},
	})
}

// opening is how a handle is taken from another one, and given back.
type opening struct{ open, close []string }

func rebind(pass *analysis.Pass, e *lockflow.Event, message string, how opening) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil {
		return nil
	}
	sel, ok := s.sends()
	if !ok {
		return nil
	}
	v := s.opened(sel, how)
	if v == nil || !s.visible(v, e.Call.Pos()) || s.closed(v, how) || !s.setOnce(v) || !s.sameMethod(sel, v) {
		return nil
	}
	return s.fix(message, []analysis.TextEdit{replace(sel.X, v.Name())})
}

// frame is the innermost function around the call that is not itself deferred as it stands there: the
// one in whose order of statements the call runs.
func (s *site) frame() ast.Node {
	for n := len(s.path) - 1; n > 0; n-- {
		switch s.path[n].(type) {
		case *ast.FuncDecl:
			return s.path[n]
		case *ast.FuncLit:
			if _, ok := s.path[n-2].(*ast.DeferStmt); !ok {
				return s.path[n]
			}
		}
	}
	return s.path[0]
}

// opened is the variable of the last "v, err := handle.Open(…)" that stands before the call in its
// own block or one around it, in the same frame.
func (s *site) opened(sel *ast.SelectorExpr, how opening) *types.Var {
	frame := s.frame()
	for n := len(s.path) - 1; n > 0 && s.path[n] != frame; n-- {
		list := stmts(s.path[n-1])
		for i := slices.IndexFunc(list, func(stmt ast.Stmt) bool { return stmt == s.path[n] }) - 1; i >= 0; i-- {
			a, ok := list[i].(*ast.AssignStmt)
			if !ok || a.Tok != token.DEFINE || len(a.Rhs) != 1 {
				continue
			}
			if recv, ok := methodCall(a.Rhs[0], how.open); ok && types.ExprString(recv) == types.ExprString(sel.X) {
				v, _ := s.object(a.Lhs[0]).(*types.Var)
				return v
			}
		}
	}
	return nil
}

// methodCall takes a call of one of the methods apart.
func methodCall(x ast.Expr, methods []string) (recv ast.Expr, ok bool) {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(methods, sel.Sel.Name) {
		return nil, false
	}
	return sel.X, true
}

// closed reports whether v may be closed as the call runs: closed before it in the text, unless by a
// defer that runs after the call. A deferred call runs before the defers above it.
func (s *site) closed(v *types.Var, how opening) bool {
	_, _, callDeferred := s.deferred()
	found := false
	ast.PreorderStack(s.frame(), nil, func(n ast.Node, stack []ast.Node) bool {
		x, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		recv, ok := methodCall(x, how.close)
		if !ok || s.object(recv) != v {
			return true
		}
		deferred := slices.ContainsFunc(stack, func(n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok })
		before := n.Pos() < s.e.Call.Pos()
		found = found || deferred && callDeferred && !before || !deferred && (before || callDeferred)
		return true
	})
	return found
}

// sameMethod reports whether v has the method that is called, with the same parameters and results.
func (s *site) sameMethod(sel *ast.SelectorExpr, v *types.Var) bool {
	obj, _, _ := types.LookupFieldOrMethod(v.Type(), true, s.pass.Pkg, sel.Sel.Name)
	f, ok := obj.(*types.Func)
	if !ok {
		return false
	}
	was, ok := s.pass.TypesInfo.TypeOf(sel).(*types.Signature)
	return ok && types.Identical(was.Params(), f.Signature().Params()) && types.Identical(was.Results(), f.Signature().Results()) &&
		was.Variadic() == f.Signature().Variadic()
}
