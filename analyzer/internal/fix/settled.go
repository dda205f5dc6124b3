package fix

import (
	"go/ast"
	"go/token"
	"go/types"
)

// settled reports whether evaluating call later gives the same: it names only constants, and
// variables of the function that nothing sets again, and calls nothing but functions of context.
func (s *site) settled(call *ast.CallExpr) bool {
	ok := true
	for _, x := range append([]ast.Expr{call.Fun.(*ast.SelectorExpr).X}, call.Args...) {
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				ok = ok && s.isContextCall(n)
			case *ast.Ident:
				if v, isVar := s.pass.TypesInfo.Uses[n].(*types.Var); isVar && !v.IsField() {
					ok = ok && v.Parent() != s.pass.Pkg.Scope() && s.setOnce(v)
				}
			}
			return ok
		})
	}
	return ok
}

// isContextCall reports whether a call is one of context's, which cost and change nothing.
func (s *site) isContextCall(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := s.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "context" && f.Signature().Recv() == nil
}

// setOnce reports whether nothing but its declaration sets v or takes its address, and no field of
// it is set.
func (s *site) setOnce(v *types.Var) bool {
	once := true
	ast.Inspect(s.outermost(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				once = once && !s.sets(x, v)
			}
		case *ast.IncDecStmt:
			once = once && !s.sets(n.X, v)
		case *ast.RangeStmt:
			once = once && (n.Tok == token.DEFINE || n.Key == nil || !s.sets(n.Key, v) && (n.Value == nil || !s.sets(n.Value, v)))
		case *ast.UnaryExpr:
			once = once && (n.Op != token.AND || !s.sets(n.X, v))
		}
		return once
	})
	return once
}

// sets reports whether assigning to x changes v, other than by declaring it.
func (s *site) sets(x ast.Expr, v *types.Var) bool {
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.Ident:
			return s.pass.TypesInfo.Uses[e] == v
		default:
			return false
		}
	}
}
