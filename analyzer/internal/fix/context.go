package fix

import (
	"go/ast"
	"go/types"
	"go/version"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// Detach gives a release that runs in a cleanup a context which is not cancelled with the work's:
// context.WithoutCancel of it, or context.Background before Go 1.21. Where nobody reads the answer
// either and the program has the runtime, its function does both; this is then the fix of both rules,
// the same edit, so that one run applies it.
func Detach(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil {
		return nil
	}
	if e.Answer == lockflow.AnswerUnread {
		if short := s.dropIn(); short != nil && short.there() {
			return short.suggest()
		}
	}
	arg := s.contextArg()
	if arg == nil {
		return nil
	}
	arg = s.origin(arg)
	pkg, imports, ok := s.imported("context", arg.Pos())
	if !ok {
		return nil
	}
	if v := s.goVersion(); v != "" && version.Compare(v, "go1.21") < 0 {
		if s.orphans(arg) {
			return nil
		}
		return s.fix("Release with context.Background()",
			[]analysis.TextEdit{replace(arg, pkg+".Background()")}, imports...)
	}
	return s.fix("Release with context.WithoutCancel",
		[]analysis.TextEdit{insert(arg.Pos(), pkg+".WithoutCancel("), insert(arg.End(), ")")}, imports...)
}

// goVersion is the language version of the file, "" when nothing says it.
func (s *site) goVersion() string {
	if v := s.pass.TypesInfo.FileVersions[s.e.File]; v != "" {
		return v
	}
	return s.pass.Pkg.GoVersion()
}

// contextArg is the context of the sending call, or the only one that is given to the helper.
func (s *site) contextArg() ast.Expr {
	if s.e.Inner == nil {
		if ctx := s.e.Send.Ctx; ctx != nil && slices.Contains(s.e.Call.Args, ctx) {
			return ctx
		}
		return nil
	}
	var found ast.Expr
	for _, arg := range s.e.Call.Args {
		if !isContext(s.pass.TypesInfo.TypeOf(arg)) {
			continue
		}
		if found != nil {
			return nil
		}
		found = arg
	}
	return found
}

func isContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}

// origin follows a context that the cleanup itself derives (c, cancel := context.WithTimeout(ctx, d))
// to the one it comes from, so that a timeout stays. A context made before the cleanup is not
// followed: it is cancelled together with the function.
func (s *site) origin(arg ast.Expr) ast.Expr {
	cleanup, ok := s.e.Func.(*ast.FuncLit)
	if !ok || s.e.Cleanup == lockflow.AfterDone || s.deferredIn(cleanup) {
		return arg
	}
	for range 4 { // a chain of With calls is short
		call := s.derivation(cleanup, s.object(arg))
		if call == nil {
			break
		}
		arg = call.Args[0]
	}
	return arg
}

// deferredIn reports whether the call is deferred by f itself, rather than run in a deferred f.
func (s *site) deferredIn(f *ast.FuncLit) bool {
	for _, n := range s.path[slices.Index(s.path, ast.Node(f))+1:] {
		if _, ok := n.(*ast.DeferStmt); ok {
			return true
		}
	}
	return false
}

// derivation is the call of package context, within f and before the event, whose result is obj; nil
// when obj comes from elsewhere or is assigned more than once.
func (s *site) derivation(f *ast.FuncLit, obj types.Object) (found *ast.CallExpr) {
	if obj == nil {
		return nil
	}
	assigned := 0
	ast.Inspect(f.Body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || s.object(a.Lhs[0]) != obj {
			return true
		}
		assigned++
		if call, ok := a.Rhs[0].(*ast.CallExpr); ok && len(call.Args) > 0 && s.isContextFunc(call) {
			found = call
		}
		return true
	})
	if assigned != 1 {
		return nil
	}
	return found
}

func (s *site) isContextFunc(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := s.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "context" && isContext(s.pass.TypesInfo.TypeOf(call.Args[0]))
}
