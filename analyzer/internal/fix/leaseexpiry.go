package fix

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// FoldExpiry moves the expiry that a later EXPIRE gives a key into the SetNX that takes it, which go-redis
// sends as one SET. Nothing but checks of the SetNX may stand between the two, so that the lease is
// counted from where it was.
func FoldExpiry(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil || e.Inner != nil {
		return nil
	}
	take := s.command(e.Call, "SetNX", 3)
	if take == nil || !s.isZero(take.args[2]) {
		return nil
	}
	expire, stmt := take.expiry()
	if expire == nil {
		return nil
	}
	ttl := expire.args[1]
	if !take.early(ttl) || s.orphans(take.args[2]) || s.orphans(stmt, ttl) {
		return nil
	}
	return s.fix("Set the expiry with the SETNX", []analysis.TextEdit{
		replace(take.args[2], s.node(ttl)), s.without(stmt),
	})
}

// expiry finds the one EXPIRE of the key that follows the SetNX, with the statement that is there for
// nothing else.
func (c *command) expiry() (*command, ast.Stmt) {
	list, i, ok := c.statement()
	if !ok {
		return nil, nil
	}
	answers := c.assigned(list[i])
	header, ok := list[i].(*ast.IfStmt)
	switch {
	case ok && c.granted(header.Cond, answers):
		if len(header.Body.List) == 1 {
			return nil, nil // it would be left empty
		}
		return c.first(header.Body.List, answers)
	case ok && (header.Else != nil || !leaves(header.Body)):
		return nil, nil
	}
	return c.first(list[i+1:], answers)
}

// first is the EXPIRE of the key in a list, after nothing but checks of the SetNX's answers and defers.
func (c *command) first(list []ast.Stmt, answers map[types.Object]bool) (*command, ast.Stmt) {
	for i, stmt := range list {
		if d := c.expires(stmt); d != nil {
			return d, stmt
		}
		switch stmt := stmt.(type) {
		case *ast.DeferStmt:
			continue
		case *ast.IfStmt:
			switch {
			case stmt.Init != nil || stmt.Else != nil || !c.names(stmt.Cond, answers):
			case c.granted(stmt.Cond, answers):
				d, inner := c.first(stmt.Body.List, answers)
				if d != nil && len(stmt.Body.List) == 1 {
					inner = list[i]
				}
				return d, inner
			case leaves(stmt.Body):
				continue
			}
		}
		return nil, nil
	}
	return nil, nil
}

// expires is the EXPIRE of the key that stmt sends, when stmt does nothing else but return where it fails.
func (c *command) expires(stmt ast.Stmt) *command {
	value := ast.Expr(nil)
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		value = stmt.X
	case *ast.AssignStmt:
		if len(stmt.Rhs) == 1 && !slices.ContainsFunc(stmt.Lhs, func(x ast.Expr) bool { return !isBlank(x) }) {
			value = stmt.Rhs[0]
		}
	case *ast.IfStmt:
		value = c.checks(stmt)
	}
	if value == nil {
		return nil
	}
	call, ok := ast.Unparen(value).(*ast.CallExpr)
	if !ok {
		return nil
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Err" || sel.Sel.Name == "Result") {
		if inner, ok := sel.X.(*ast.CallExpr); ok {
			call = inner
		}
	}
	for _, d := range expires {
		if e := c.command(call, d.method, 2); e != nil && c.sameKey(e) {
			return e
		}
	}
	return nil
}

// checks is the call that check, which is if err := …; err != nil { return … }, checks.
func (s *site) checks(check *ast.IfStmt) ast.Expr {
	init, ok := check.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Rhs) != 1 || check.Else != nil || len(check.Body.List) != 1 || !s.isNotNil(check.Cond) {
		return nil
	}
	if _, ok := check.Body.List[0].(*ast.ReturnStmt); !ok {
		return nil
	}
	err := init.Lhs[len(init.Lhs)-1]
	if len(init.Lhs) == 2 && !isBlank(init.Lhs[0]) || s.object(check.Cond.(*ast.BinaryExpr).X) != s.object(err) {
		return nil
	}
	return init.Rhs[0]
}

// assigned are the variables that the statement of the SetNX puts its answer and its error in.
func (c *command) assigned(stmt ast.Stmt) map[types.Object]bool {
	if check, ok := stmt.(*ast.IfStmt); ok {
		stmt = check.Init
	}
	vars := map[types.Object]bool{}
	if a, ok := stmt.(*ast.AssignStmt); ok {
		for _, x := range a.Lhs {
			if obj := c.object(x); obj != nil {
				vars[obj] = true
			}
		}
	}
	return vars
}

// names reports whether the variables that x names are among vars.
func (s *site) names(x ast.Expr, vars map[types.Object]bool) bool {
	ok := true
	ast.Inspect(x, func(n ast.Node) bool {
		if id, isIdent := n.(*ast.Ident); isIdent {
			v, isVar := s.pass.TypesInfo.Uses[id].(*types.Var)
			ok = ok && (!isVar || vars[v])
		}
		return ok
	})
	return ok
}

// granted reports whether cond is true when, and only when, the SetNX took the key: its boolean, by itself
// or with its error's absence.
func (c *command) granted(cond ast.Expr, answers map[types.Object]bool) bool {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	switch {
	case ok && b.Op == token.LAND:
		return c.granted(b.X, answers) && c.granted(b.Y, answers)
	case ok && b.Op == token.EQL:
		return isError(c.pass.TypesInfo.TypeOf(b.X)) && answers[c.object(b.X)] && c.pass.TypesInfo.Types[b.Y].IsNil()
	}
	if method, outer := c.reading(c.call); method == "Val" && outer == ast.Unparen(cond) {
		return true
	}
	return answers[c.object(cond)]
}

// early reports whether x gives at the SetNX what it gives later: it calls nothing, and names what is
// there already and is not set again. An expiry below 1 ms would be none, or delete the key.
func (c *command) early(x ast.Expr) bool {
	if v := c.pass.TypesInfo.Types[x].Value; v != nil && (v.Kind() != constant.Int || constant.Compare(v, token.LSS, constant.MakeInt64(1e6))) {
		return false
	}
	ok := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			ok = ok && c.pass.TypesInfo.Types[n.Fun].IsType()
		case *ast.FuncLit, *ast.StarExpr:
			ok = false
		case *ast.Ident:
			obj := c.pass.TypesInfo.Uses[n]
			if v, isVar := obj.(*types.Var); isVar {
				ok = ok && (v.IsField() || c.setOnce(v))
			}
			if obj != nil && obj.Parent() != nil && (obj.Pkg() == nil || obj.Pkg() == c.pass.Pkg) {
				ok = ok && c.visible(obj, c.call.Pos())
			}
		}
		return ok
	})
	return ok
}

// without takes a statement out with the comments that belong to it: those on its last line and on the
// lines right above.
func (s *site) without(stmt ast.Stmt) analysis.TextEdit {
	from, to := stmt.Pos(), s.lineEnd(stmt.End())
	for _, group := range slices.Backward(s.e.File.Comments) {
		if group.End() < from && s.lineOf(group.End())+1 == s.lineOf(from) && s.begins(group.Pos()) {
			from = group.Pos()
			break
		}
	}
	if s.begins(from) && s.offset(to) < len(s.src) && s.src[s.offset(to)] == '\n' {
		return cut(s.tok.LineStart(s.lineOf(from)), to+1)
	}
	return cut(from, to)
}

// begins reports whether nothing but white space is before p on its line.
func (s *site) begins(p token.Pos) bool {
	return s.tok.LineStart(s.lineOf(p))+token.Pos(len(s.indent(p))) == p
}
