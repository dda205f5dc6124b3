package fix

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// compared is the value that the key's is known to be equal to where the command is sent, as the function
// around it has compared it: in an if around the command, or in one above that leaves when they differ.
// It is nil when that is not plain to see, or when evaluating it at the command may give another.
func (c *command) compared() (value ast.Expr) {
	f, _ := c.function()
	for i := max(0, slices.Index(c.path, f)); i+1 < len(c.path); i++ {
		for _, x := range c.known(c.path[i], c.path[i+1]) {
			v := c.other(x)
			if v == nil {
				continue
			}
			if value != nil && !c.same(value, v) {
				return nil
			}
			value = v
		}
	}
	if value == nil || !c.steady(value) {
		return nil
	}
	return value
}

// known are the comparisons in n that say "equal" whenever next, a child of n, is reached.
func (s *site) known(n, next ast.Node) (equal []*ast.BinaryExpr) {
	if n, ok := n.(*ast.IfStmt); ok {
		switch next {
		case n.Body:
			return operands(n.Cond, token.LAND, token.EQL)
		case n.Else:
			return operands(n.Cond, token.LOR, token.NEQ)
		}
	}
	for _, stmt := range stmts(n) {
		if stmt == next {
			break
		}
		if check, ok := stmt.(*ast.IfStmt); ok && check.Else == nil && leaves(check.Body) {
			equal = append(equal, operands(check.Cond, token.LOR, token.NEQ)...)
		}
	}
	return equal
}

// operands are the comparisons by op that x is made of with join.
func operands(x ast.Expr, join, op token.Token) []*ast.BinaryExpr {
	b, ok := ast.Unparen(x).(*ast.BinaryExpr)
	switch {
	case !ok:
		return nil
	case b.Op == join:
		return append(operands(b.X, join, op), operands(b.Y, join, op)...)
	case b.Op == op:
		return []*ast.BinaryExpr{b}
	}
	return nil
}

// leaves reports whether what follows a block in its list does not run after it.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch last := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok == token.CONTINUE || last.Tok == token.BREAK
	}
	return false
}

// other is what a comparison compares the key's value with, nil when it compares something else.
func (c *command) other(x *ast.BinaryExpr) ast.Expr {
	switch {
	case c.got(x.X):
		return ast.Unparen(x.Y)
	case c.got(x.Y):
		return ast.Unparen(x.X)
	}
	return nil
}

// got reports whether x is the answer of a GET of the command's key: x.Get(…).Val(), or a variable that
// has it or the answer of Result and is set nowhere else.
func (c *command) got(x ast.Expr) bool {
	if c.reads(x, "Val") {
		return true
	}
	v, ok := c.object(x).(*types.Var)
	if !ok || !c.setOnce(v) {
		return false
	}
	found := false
	ast.Inspect(c.outermost(), func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if ok && a.Tok == token.DEFINE && len(a.Rhs) == 1 && c.object(a.Lhs[0]) == v {
			found = len(a.Lhs) == 2 && c.reads(a.Rhs[0], "Result") || len(a.Lhs) == 1 && c.reads(a.Rhs[0], "Val")
		}
		return !found
	})
	return found
}

// reads reports whether x is the call of a method on the answer of a GET of the command's key.
func (c *command) reads(x ast.Expr, method string) bool {
	outer, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != method {
		return false
	}
	get, ok := ast.Unparen(sel.X).(*ast.CallExpr)
	if !ok {
		return false
	}
	d := c.command(get, "Get", 1)
	return d != nil && c.sameKey(d)
}

// steady reports whether x, a value that was compared, is the same where the command is sent: a constant,
// or a variable or field that the function does not set.
func (c *command) steady(x ast.Expr) bool {
	root := ast.Unparen(x)
	if c.pass.TypesInfo.Types[root].Value != nil {
		id, named := root.(*ast.Ident)
		_, literal := root.(*ast.BasicLit)
		return literal || named && c.visible(c.object(id), c.call.Pos())
	}
	for {
		switch e := root.(type) {
		case *ast.SelectorExpr:
			root = ast.Unparen(e.X)
		case *ast.Ident:
			v, ok := c.object(e).(*types.Var)
			return ok && v.Parent() != c.pass.Pkg.Scope() && c.setOnce(v) && c.visible(v, c.call.Pos())
		default:
			return false
		}
	}
}
