package luatext

import "github.com/yuin/gopher-lua/ast"

// assigned has the names that stmts assign to, but not in functions within them. A local of the
// same name counts too: that only forgets more than needed.
func assigned(stmts []ast.Stmt) map[string]bool {
	names := map[string]bool{}
	var walk func([]ast.Stmt)
	walk = func(stmts []ast.Stmt) {
		for _, st := range stmts {
			switch st := st.(type) {
			case *ast.AssignStmt:
				for _, l := range st.Lhs {
					if id, ok := l.(*ast.IdentExpr); ok {
						names[id.Value] = true
					}
				}
			case *ast.DoBlockStmt:
				walk(st.Stmts)
			case *ast.IfStmt:
				walk(st.Then)
				walk(st.Else)
			case *ast.WhileStmt:
				walk(st.Stmts)
			case *ast.RepeatStmt:
				walk(st.Stmts)
			case *ast.NumberForStmt:
				walk(st.Stmts)
			case *ast.GenericForStmt:
				walk(st.Stmts)
			}
		}
	}
	walk(stmts)
	return names
}
