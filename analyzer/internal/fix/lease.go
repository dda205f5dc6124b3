package fix

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

const (
	redislock = module + "/runtime/redislock"
	goRedis   = "github.com/redis/go-redis/v9"
)

// A conditional is a function of the runtime, func(ctx, client, key, value, rest...) error, that does in
// one step what a method of go-redis does after a GET and a comparison with value.
type conditional struct {
	method string // of the client, (ctx, key, rest...)
	fn     string
	rest   int
	says   string // the fix in a word
}

var (
	deletes = []conditional{{"Del", "DelIfEqual", 0, "Release"}, {"Unlink", "DelIfEqual", 0, "Release"}}
	expires = []conditional{{"Expire", "ExpireIfEqual", 1, "Renew"}, {"PExpire", "ExpireIfEqual", 1, "Renew"}}
)

// DeleteIfEqual makes a DEL that follows a GET and a comparison one step with them, by calling the
// runtime, where the package has it. There is no fix elsewhere: a script that does it by hand is more
// than an edit of one place.
func DeleteIfEqual(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	return ifEqual(pass, e, deletes)
}

// ExpireIfEqual does so with an EXPIRE.
func ExpireIfEqual(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	return ifEqual(pass, e, expires)
}

func ifEqual(pass *analysis.Pass, e *lockflow.Event, table []conditional) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil || e.Inner != nil || s.ours() || !s.below(redislock) {
		return nil
	}
	for _, d := range table {
		c := s.command(e.Call, d.method, 1+d.rest)
		if c == nil || !c.scripts() {
			continue
		}
		value := c.compared()
		if value == nil {
			return nil
		}
		pkg, imports, ok := s.importedOrAlias(redislock, e.Call.Pos())
		if !ok {
			return nil
		}
		args := []string{s.node(c.ctx), s.node(c.client), s.node(c.args[0]), s.node(value)}
		for _, x := range c.args[1:] {
			args = append(args, s.node(x))
		}
		edits, ok := c.becomes(pkg + "." + d.fn + "(" + strings.Join(args, ", ") + ")")
		if !ok {
			return nil
		}
		return s.fix(d.says+" with redislock."+d.fn, edits, imports...)
	}
	return nil
}

// command is a call of a method of go-redis that sends one command and waits for its answer.
type command struct {
	*site
	call   *ast.CallExpr
	client ast.Expr
	lib    *types.Package
	ctx    ast.Expr
	args   []ast.Expr // after the context, the key first
}

// command reads call as one of a method with n arguments after the context; nil when it is another call,
// or one that a pipeline puts off.
func (s *site) command(call *ast.CallExpr, method string, n int) *command {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != method || len(call.Args) != n+1 || call.Ellipsis.IsValid() || s.pass.TypesInfo.Selections[sel] == nil {
		return nil
	}
	f, ok := s.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != goRedis || !isContext(s.pass.TypesInfo.TypeOf(call.Args[0])) {
		return nil
	}
	c := &command{site: s, call: call, client: sel.X, lib: f.Pkg(), ctx: call.Args[0], args: call.Args[1:]}
	if c.is("Pipeliner") {
		return nil
	}
	return c
}

// scripts reports whether the client can run the script that the runtime sends.
func (c *command) scripts() bool { return c.is("Scripter") }

// is reports whether the client has the methods of an interface of its library.
func (c *command) is(name string) bool {
	obj, ok := c.lib.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		return false
	}
	iface, ok := obj.Type().Underlying().(*types.Interface)
	return ok && types.Implements(c.pass.TypesInfo.TypeOf(c.client), iface)
}

// sameKey reports whether two commands are of one key through one client.
func (c *command) sameKey(d *command) bool {
	return c.same(c.client, d.client) && c.same(c.args[0], d.args[0])
}

// same reports whether two expressions are written alike and name the same objects.
func (s *site) same(a, b ast.Expr) bool {
	a, b = ast.Unparen(a), ast.Unparen(b)
	alike := func(x, y []ast.Expr) bool { return slices.EqualFunc(x, y, s.same) }
	switch a := a.(type) {
	case *ast.Ident:
		b, ok := b.(*ast.Ident)
		return ok && s.object(a) != nil && s.object(a) == s.object(b)
	case *ast.SelectorExpr:
		b, ok := b.(*ast.SelectorExpr)
		return ok && s.same(a.Sel, b.Sel) && s.same(a.X, b.X)
	case *ast.BasicLit:
		b, ok := b.(*ast.BasicLit)
		return ok && a.Value == b.Value
	case *ast.BinaryExpr:
		b, ok := b.(*ast.BinaryExpr)
		return ok && a.Op == b.Op && s.same(a.X, b.X) && s.same(a.Y, b.Y)
	case *ast.CallExpr:
		b, ok := b.(*ast.CallExpr)
		return ok && s.same(a.Fun, b.Fun) && alike(a.Args, b.Args)
	}
	return false
}

// reading is the method that reads the answer of a call at once, and the call of it: "" and call itself
// when none does.
func (s *site) reading(call *ast.CallExpr) (method string, outer *ast.CallExpr) {
	sel, ok := s.parent(call).(*ast.SelectorExpr)
	if !ok {
		return "", call
	}
	if outer, ok = s.parent(sel).(*ast.CallExpr); !ok || outer.Fun != sel {
		return "", call
	}
	return sel.Sel.Name, outer
}

// becomes puts text, a call that gives an error, in the place of the command, where nothing else than its
// error is used.
func (c *command) becomes(text string) ([]analysis.TextEdit, bool) {
	method, outer := c.reading(c.call)
	edits := []analysis.TextEdit{replace(outer, text)}
	switch stmt := c.parent(outer).(type) {
	case *ast.ExprStmt:
		return edits, true
	case *ast.DeferStmt, *ast.GoStmt:
		return nil, false
	case *ast.AssignStmt:
		switch {
		case method == "Err":
		case len(stmt.Rhs) != 1:
			return nil, false
		case method == "" && isBlank(stmt.Lhs[0]):
		case method == "Result":
			dropped, ok := c.drops(stmt)
			return append(edits, dropped...), ok
		default:
			return nil, false
		}
		return edits, true
	}
	return edits, method == "Err"
}

// drops takes the answer's variable out of an assignment of answer and error: it is blank, or looked at
// only as the "|| !ok" of the condition that the assignment belongs to, where a no is now an error.
func (c *command) drops(stmt *ast.AssignStmt) ([]analysis.TextEdit, bool) {
	if len(stmt.Lhs) != 2 {
		return nil, false
	}
	first := cut(stmt.Lhs[0].Pos(), stmt.Lhs[1].Pos())
	if isBlank(stmt.Lhs[0]) {
		return []analysis.TextEdit{first}, true
	}
	check, ok := c.parent(stmt).(*ast.IfStmt)
	answer := c.object(stmt.Lhs[0])
	if !ok || check.Init != stmt || stmt.Tok != token.DEFINE || isBlank(stmt.Lhs[1]) || answer == nil || c.uses(answer) != 1 {
		return nil, false
	}
	or, ok := check.Cond.(*ast.BinaryExpr)
	if !ok || or.Op != token.LOR || !c.isNotNil(or.X) || c.object(or.X.(*ast.BinaryExpr).X) != c.object(stmt.Lhs[1]) {
		return nil, false
	}
	not, ok := ast.Unparen(or.Y).(*ast.UnaryExpr)
	if !ok || not.Op != token.NOT || c.object(not.X) != answer {
		return nil, false
	}
	return []analysis.TextEdit{first, cut(or.X.End(), or.End())}, true
}

// isZero reports whether x is a constant that is 0.
func (s *site) isZero(x ast.Expr) bool {
	v := s.pass.TypesInfo.Types[x].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) == 0
}
