// Package gate decides, from imports, imported facts and string literals alone, whether a package
// can matter to the lock rules. One that cannot costs nothing beyond type checking: no SSA is
// built for it.
package gate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// Reason says why a package matters.
type Reason uint8

const (
	Closed   Reason = iota
	Locks           // its own text names a lock function, or it embeds SQL files
	Callers         // it calls functions that are known to lock, or to make handles
	Wrappers        // it forwards SQL text, or makes contexts, for others
	Leases          // it sends Redis what locks are made of
)

func (r Reason) String() string {
	return [...]string{"closed", "has lock text", "calls functions that lock", "wraps clients or contexts", "may lock in Redis"}[r]
}

// Known reports whether a function of another package is known to do something with locks, or a
// variable to hold lock text.
type Known func(types.Object) bool

// Of looks at a package.
func Of(pkg *types.Package, files []*ast.File, info *types.Info, known Known) Reason {
	if Standard(pkg.Path()) {
		return Closed
	}
	if mentions(files) {
		return Locks
	}
	if client.Library(client.Path(pkg.Path())) {
		return Closed
	}
	if imports(pkg, client.LeasePath) || imports(pkg, client.RedisPath) && (leases(files) || passesKeys(files, info)) {
		return Leases
	}
	if calls(pkg, info, known) {
		return Callers
	}
	if wraps(pkg, files, info) {
		return Wrappers
	}
	return Closed
}

// Standard reports whether a package is of the standard library, whose functions the engine knows.
func Standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && stdRoots[first]
}

var stdRoots = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed encoding
		errors expvar flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime
		slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak internal cmd`) {
		m[s] = true
	}
	return m
}()

// Text reports whether a piece of text can matter to the rules; a text put together from pieces has at least
// one that does.
func Text(s string) bool { return sqltext.MentionsLock(s) }

// mentions reports whether a literal could be lock text, or a file embeds SQL.
func mentions(files []*ast.File) bool {
	for _, f := range files {
		if embeds(f) {
			return true
		}
		found := false
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && len(lit.Value) > 8 && Text(value(lit)) {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// value is the text that a literal stands for, or the literal as it is written when it stands for none.
func value(lit *ast.BasicLit) string {
	if s, err := strconv.Unquote(lit.Value); err == nil {
		return s
	}
	return lit.Value
}

// imports reports whether the package itself imports one whose path is what is asked for.
func imports(pkg *types.Package, is func(path string) bool) bool {
	return slices.ContainsFunc(pkg.Imports(), func(p *types.Package) bool { return is(p.Path()) })
}

// leaseNames are methods of Redis clients without one of which, or without a word in a literal or a
// function's name, no lock is made.
var leaseNames = map[string]bool{
	"SetNX": true, "SetNx": true, "SetArgs": true, "NewScript": true, "Eval": true, "EvalSha": true, "DelExArgs": true,
	"NewLuaScript": true, "Setnx": true, "Nx": true,
}

// leases reports whether the files have the name of a method, or a word, that a lock in Redis needs.
func leases(files []*ast.File) bool {
	for _, f := range files {
		found := false
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				found = found || leaseNames[n.Sel.Name]
			case *ast.FuncDecl:
				found = found || lockWord(n.Name.Name)
			case *ast.BasicLit:
				found = found || n.Kind == token.STRING && (lockWord(n.Value) || strings.Contains(strings.ToUpper(n.Value), "NX"))
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// passesKeys reports whether an exported function gives its own parameter to a Redis client: what it is the
// key of is for others to say.
func passesKeys(files []*ast.File, info *types.Info) bool {
	return anyFunc(files, info, func(fn *ast.FuncDecl, sig *types.Signature) bool {
		return fn.Name.IsExported() && passesOn(fn.Body, sig.Params(), info)
	})
}

func passesOn(body *ast.BlockStmt, params *types.Tuple, info *types.Info) bool {
	own := map[types.Object]bool{}
	for p := range params.Variables() {
		if b, ok := p.Type().Underlying().(*types.Basic); ok && b.Kind() == types.String {
			own[p] = true
		}
	}
	return anyCall(body, info, func(call *ast.CallExpr, callee *types.Func) bool {
		m := client.CommandOf(callee)
		return m != nil && m.Sends() && slices.ContainsFunc(call.Args, func(a ast.Expr) bool {
			id, ok := a.(*ast.Ident)
			return ok && own[info.Uses[id]]
		})
	})
}

// anyFunc reports whether is holds for a function that is declared with a body.
func anyFunc(files []*ast.File, info *types.Info, is func(*ast.FuncDecl, *types.Signature) bool) bool {
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if obj, ok := info.Defs[fn.Name].(*types.Func); ok && is(fn, obj.Signature()) {
				return true
			}
		}
	}
	return false
}

// anyCall reports whether is holds for a call through a selector whose function is known.
func anyCall(body ast.Node, info *types.Info, is func(*ast.CallExpr, *types.Func) bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if callee, ok := info.Uses[sel.Sel].(*types.Func); ok {
				found = is(call, callee)
			}
		}
		return !found
	})
	return found
}

func lockWord(s string) bool {
	s = strings.ToLower(s)
	for _, w := range []string{"lock", "mutex", "lease", "leader"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// clientPath reports whether a path is that of a database client which makes a package worth looking at.
func clientPath(path string) bool { return client.Imports(client.Path(path)) }

// embeds reports whether a file has a go:embed directive for SQL.
func embeds(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:embed ") && strings.Contains(c.Text, "sql") {
				return true
			}
		}
	}
	return false
}

// calls reports whether the package uses a function or a variable of another package of which a
// fact is known, or a constant of another that is lock text.
func calls(pkg *types.Package, info *types.Info, known Known) bool {
	for _, obj := range info.Uses {
		if obj.Pkg() == nil || obj.Pkg() == pkg || Standard(obj.Pkg().Path()) {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			if known(obj) {
				return true
			}
		case *types.Var:
			if obj.Parent() == obj.Pkg().Scope() && known(obj) {
				return true
			}
		case *types.Const:
			if v := obj.Val(); v.Kind() == constant.String && Text(constant.StringVal(v)) {
				return true
			}
		}
	}
	return false
}

// wraps reports whether the package has a function that sends text it is given to a client, or
// that makes a context for its caller.
func wraps(pkg *types.Package, files []*ast.File, info *types.Info) bool {
	uses := imports(pkg, clientPath)
	return anyFunc(files, info, func(fn *ast.FuncDecl, sig *types.Signature) bool {
		return makesContext(sig) && detaches(fn.Body, info) || uses && forwards(fn, sig, info)
	})
}

// makesContext reports whether a function takes a context and gives one back.
func makesContext(sig *types.Signature) bool {
	return hasContext(sig.Params()) && hasContext(sig.Results())
}

// detachers are the functions that decide who can cancel a context.
var detachers = map[string]bool{"Background": true, "TODO": true, "WithoutCancel": true, "WithTimeout": true, "WithCancel": true, "WithDeadline": true}

// detaches reports whether a body may make a context with another life than its caller's.
func detaches(body ast.Node, info *types.Info) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && detachers[sel.Sel.Name] {
			if f, ok := info.Uses[sel.Sel].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == "context" {
				found = true
			}
		}
		return !found
	})
	return found
}

func hasContext(t *types.Tuple) bool {
	for v := range t.Variables() {
		if n, ok := types.Unalias(v.Type()).(*types.Named); ok && n.Obj().Name() == "Context" && n.Obj().Pkg() != nil &&
			n.Obj().Pkg().Path() == "context" {
			return true
		}
	}
	return false
}

// forwards reports whether a function with a string parameter passes a text that is not constant
// to a client.
func forwards(fn *ast.FuncDecl, sig *types.Signature, info *types.Info) bool {
	takes := false
	for v := range sig.Params().Variables() {
		if b, ok := v.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			takes = true
		}
	}
	if !takes {
		return false
	}
	return anyCall(fn.Body, info, func(call *ast.CallExpr, callee *types.Func) bool {
		m := client.Of(callee)
		if m == nil {
			m = client.Shape(callee.Name(), callee.Signature())
		}
		return m != nil && m.SQL >= 0 && m.SQL < len(call.Args) && info.Types[call.Args[m.SQL]].Value == nil
	})
}
