package fix

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// refusal is the text of a no.
func (a *answer) refusal() string {
	what := "advisory lock"
	if a.e.Lock.Func.System == sqltext.MySQL {
		what = "named lock"
	}
	if a.e.Lock.Func.Op == sqltext.Acquire {
		return what + " was not granted"
	}
	return what + " was not held"
}

// like is the text of a body that does for a no what body does for err: the same statements, with
// a new error or a message in the last one, the only one that may name err.
func (a *answer) like(body *ast.BlockStmt, err types.Object) (string, bool) {
	n := len(body.List) - 1
	for _, stmt := range body.List[:n] {
		if a.mentions(stmt, err) {
			return "", false
		}
	}
	last := body.List[n]
	text := "\n" + a.indent(last.Pos()) + a.text(body.List[0].Pos(), last.Pos())
	switch last := last.(type) {
	case *ast.ReturnStmt:
		ret, ok := a.failing(last, err)
		return text + ret, ok
	case *ast.ExprStmt:
		call, ok := a.complaint(last.X, err)
		return text + call, ok
	}
	return "", false
}

// failing is ret with a new error in the place of its last result, the only one that may name err.
func (a *answer) failing(ret *ast.ReturnStmt, err types.Object) (string, bool) {
	n := len(ret.Results) - 1
	if n < 0 || !isError(a.pass.TypesInfo.TypeOf(ret.Results[n])) {
		return "", false
	}
	for _, r := range ret.Results[:n] {
		if a.mentions(r, err) {
			return "", false
		}
	}
	expr, imports, ok := a.newError(a.refusal(), ret.Pos())
	a.imports = imports
	return a.text(ret.Pos(), ret.Results[n].Pos()) + expr, ok
}

// speakers are functions that say something, by package or by type, with the form that takes plain
// values; speaking through one of them is handling an error.
var speakers = map[string]map[string]string{
	"log":      {"Print": "Print", "Printf": "Print", "Println": "Print", "Fatal": "Fatal", "Fatalf": "Fatal", "Fatalln": "Fatal"},
	"log/slog": {"Warn": "Warn", "Error": "Error", "Info": "Info"},
	"testing":  {"Log": "Log", "Logf": "Log", "Error": "Error", "Errorf": "Error", "Fatal": "Fatal", "Fatalf": "Fatal"},
}

// complaint is the call x, which speaks of err, with another message.
func (a *answer) complaint(x ast.Expr, err types.Object) (string, bool) {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || a.mentions(sel, err) {
		return "", false
	}
	f, ok := a.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return "", false
	}
	plain, ok := speakers[f.Pkg().Path()][f.Name()]
	return fmt.Sprintf("%s.%s(%q)", a.node(sel.X), plain, a.refusal()), ok
}

func (a *answer) logBlock(say, indent string) string {
	no := ""
	if a.name != "" {
		no = " || !" + a.name
	}
	return fmt.Sprintf("; err != nil%s {\n%s\t%s\n%s}", no, indent, say, indent)
}

// logged is a call of log or slog that says that the release failed, when the file has one of them.
func (a *answer) logged(p token.Pos) (string, bool) {
	what := strings.TrimSuffix(a.refusal(), "held") + "released"
	name, structured := a.has("log/slog", p)
	plain := false
	if !structured {
		name, plain = a.has("log", p)
	}
	switch {
	case structured && a.name != "":
		return fmt.Sprintf("%s.Error(%q, \"answer\", %s, \"error\", err)", name, what, a.name), true
	case structured:
		return fmt.Sprintf("%s.Error(%q, \"error\", err)", name, what), true
	case plain && a.name != "":
		return fmt.Sprintf("%s.Printf(\"%s: answer %%t, error %%v\", %s, err)", name, what, a.name), true
	case plain:
		return fmt.Sprintf("%s.Printf(\"%s: %%v\", err)", name, what), true
	}
	return "", false
}

// failure is the format of a return that ends the function with an error. After a release it is
// that of a return right below, so that nothing in between is skipped.
func (a *answer) failure(stmt ast.Stmt) (format string, ok bool) {
	list, i, _ := a.statement()
	_, ft := a.function()
	if ft.Results == nil {
		return "", false
	}
	if a.e.Lock.Func.Op == sqltext.Acquire {
		return a.zeros(ft)
	}
	if i+1 == len(list) {
		return "", false
	}
	ret, ok := list[i+1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 {
		return "", false
	}
	n := len(ret.Results) - 1
	if !a.pass.TypesInfo.Types[ret.Results[n]].IsNil() || slices.ContainsFunc(ret.Results[:n], hasCall) || !a.lastIsError(ft) {
		return "", false
	}
	before := a.text(ret.Pos(), ret.Results[n].Pos())
	return before + "%s", !strings.Contains(before, "%")
}

func (a *answer) lastIsError(ft *ast.FuncType) bool {
	fields := ft.Results.List
	return len(fields) > 0 && isError(a.pass.TypesInfo.TypeOf(fields[len(fields)-1].Type))
}

func hasCall(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		_, ok := n.(*ast.CallExpr)
		found = found || ok
		return !found
	})
	return found
}

// zeros is a return of zero values and an error.
func (a *answer) zeros(ft *ast.FuncType) (format string, ok bool) {
	if !a.lastIsError(ft) {
		return "", false
	}
	var values []string
	for _, f := range ft.Results.List {
		v, ok := a.zero(f.Type)
		if !ok {
			return "", false
		}
		for range max(1, len(f.Names)) {
			values = append(values, v)
		}
	}
	values[len(values)-1] = "%s"
	return "return " + strings.Join(values, ", "), true
}

func (a *answer) zero(typ ast.Expr) (string, bool) {
	t := a.pass.TypesInfo.TypeOf(typ)
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return "*new(" + a.node(typ) + ")", true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "false", true
		case u.Info()&types.IsString != 0:
			return `""`, true
		case u.Info()&types.IsNumeric != 0:
			return "0", true
		}
		return "", false
	case *types.Struct, *types.Array:
		return a.node(typ) + "{}", true
	}
	return "nil", true
}
