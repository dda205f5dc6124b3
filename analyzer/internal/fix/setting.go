package fix

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// FoldSetting takes away a statement that sets lock_timeout locally, and sets it in the next
// statement, the one that locks. That one must be sent on the same handle by a method that drops
// its row, since the row gets another column. No other setting works in the statement it is for:
// statement_timeout is read as a statement starts.
func FoldSetting(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil || e.Setting == nil || e.Setting.Name != "lock_timeout" {
		return nil
	}
	value, ok := settingValue(e.Setting.Value)
	if _, sends := s.sends(); !ok || !sends {
		return nil
	}
	list, i, ok := s.statement()
	if !ok || i+1 == len(list) || !s.removable(list[i]) {
		return nil
	}
	lit := s.nextLock(list[i+1])
	if lit == nil {
		return nil
	}
	from, to := s.lines(list[i])
	if to > list[i+1].Pos() {
		return nil
	}
	at := lit.Pos() + 1 + token.Pos(len(selectWord.FindString(lit.Value[1:])))
	return s.fix("Set lock_timeout in the statement that locks", []analysis.TextEdit{
		cut(from, to),
		insert(at, fmt.Sprintf("set_config('lock_timeout', '%s', true), ", value)),
	})
}

var plainValue = regexp.MustCompile(`^[\w .]+$`)

func settingValue(v sqltext.Arg) (string, bool) {
	return v.Text, v.Kind == sqltext.Literal && plainValue.MatchString(v.Text)
}

// removable reports whether stmt is no more than the sending call and the handling of its error, and
// what it uses is used elsewhere too.
func (s *site) removable(stmt ast.Stmt) bool {
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		return stmt.X == s.e.Call && !s.orphans(stmt)
	case *ast.AssignStmt:
		for _, x := range stmt.Lhs {
			if !isBlank(x) {
				return false
			}
		}
		return len(stmt.Rhs) == 1 && stmt.Rhs[0] == s.e.Call && !s.orphans(stmt)
	case *ast.IfStmt:
		init, ok := stmt.Init.(*ast.AssignStmt)
		return ok && s.isNotNil(stmt.Cond) && stmt.Else == nil && len(init.Rhs) == 1 && init.Rhs[0] == s.e.Call && init.Tok == token.DEFINE && !s.orphans(stmt)
	}
	return false
}

// isNotNil reports whether x is a comparison of the form err != nil.
func (s *site) isNotNil(x ast.Expr) bool {
	cond, ok := x.(*ast.BinaryExpr)
	return ok && cond.Op == token.NEQ && isError(s.pass.TypesInfo.TypeOf(cond.X)) && s.pass.TypesInfo.Types[cond.Y].IsNil()
}

var (
	selectWord = regexp.MustCompile(`(?i)^\s*select\s+`)
	lockSelect = regexp.MustCompile(`(?i)^\s*select\s+pg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?\s*\([^;]*\)\s*;?\s*$`)
)

// nextLock is the literal of a locking SELECT that stmt sends on the event's handle with Exec.
func (s *site) nextLock(stmt ast.Stmt) (lit *ast.BasicLit) {
	calls := 0
	if check, ok := stmt.(*ast.IfStmt); ok {
		if check.Init == nil {
			return nil
		}
		stmt = check.Init
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || queries[sel.Sel.Name] == "" || types.ExprString(sel.X) != types.ExprString(s.e.Send.Handle) {
			return true
		}
		calls++
		for _, arg := range call.Args {
			if l, ok := arg.(*ast.BasicLit); ok && lockSelect.MatchString(strings.Trim(l.Value, "`\"")) {
				lit = l
			}
		}
		return true
	})
	if calls != 1 || lit == nil || lit.Value[0] == '"' && strings.Contains(lit.Value, `\`) {
		return nil
	}
	return lit
}
