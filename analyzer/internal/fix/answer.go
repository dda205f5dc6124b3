package fix

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// ReadAnswer makes a call whose answer is thrown away read it, and makes a no end where an error
// ends: in the same return, the same log, the same test failure. Where the function has no such
// place there is no fix.
func ReadAnswer(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil {
		return nil
	}
	if edits, imports, ok := s.dropIn(); ok {
		return s.fix("Release with the runtime, which reads the answer", edits, imports...)
	}
	a, ok := s.answer()
	if !ok || !a.edit() {
		return nil
	}
	return s.fix("Read the answer of "+e.Lock.Func.Name, a.edits, a.imports...)
}

// answer is a sending call that can be made to read its answer.
type answer struct {
	*site
	value ast.Expr // the expression whose (last) value is the error
	exec  bool     // value is Exec, with a result before its error
	name  string   // the variable for the answer

	edits, imports []analysis.TextEdit
}

// onlyCall matches a statement that returns the answer of one function and nothing else. Holes of
// Sprintf are fine: they stand in the arguments.
var onlyCall = regexp.MustCompile(`(?is)^\s*select\s+[\w.]+\s*\((?:[^()';]|'[^']*'|\([^()';]*\))*\)\s*(?:as\s+\w+\s*)?;?\s*$`)

func (s *site) answer() (*answer, bool) {
	sel, ok := s.sends()
	if !ok || s.e.Lock == nil || !onlyCall.MatchString(s.constant(s.e.Send.SQL)) {
		return nil, false
	}
	a := &answer{site: s, value: s.e.Call}
	if query, isExec := queries[sel.Sel.Name]; isExec {
		if !s.scans(sel, query) {
			return nil, false
		}
		a.exec = true
		a.name = s.answerName()
		a.edits = []analysis.TextEdit{replace(sel.Sel, query), insert(s.e.Call.End(), ".Scan(&"+a.name+")")}
		return a, true
	}
	return a, a.fromRow(sel)
}

// queries are the methods that throw rows away, and those that return one row instead.
var queries = map[string]string{"Exec": "QueryRow", "ExecContext": "QueryRowContext"}

// scans reports whether the receiver has the method, with the arguments of the one it replaces, and
// its result can be scanned.
func (s *site) scans(sel *ast.SelectorExpr, method string) bool {
	recv := s.pass.TypesInfo.TypeOf(sel.X)
	was, _ := s.pass.TypesInfo.TypeOf(sel).(*types.Signature)
	obj, _, _ := types.LookupFieldOrMethod(recv, true, s.pass.Pkg, method)
	f, ok := obj.(*types.Func)
	if !ok || was == nil {
		return false
	}
	sig := f.Signature()
	if !types.Identical(sig.Params(), was.Params()) || sig.Variadic() != was.Variadic() || sig.Results().Len() != 1 ||
		was.Results().Len() != 2 {
		return false
	}
	scan, _, _ := types.LookupFieldOrMethod(sig.Results().At(0).Type(), true, s.pass.Pkg, "Scan")
	_, ok = scan.(*types.Func)
	return ok
}

// fromRow takes QueryRow(…).Scan(&ok), with ok a local bool, and QueryRow(…).Err().
func (a *answer) fromRow(sel *ast.SelectorExpr) bool {
	if !strings.HasPrefix(sel.Sel.Name, "QueryRow") {
		return false
	}
	read, ok := a.parent(a.e.Call).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	call, ok := a.parent(read).(*ast.CallExpr)
	if !ok || call.Fun != read {
		return false
	}
	a.value = call
	switch {
	case read.Sel.Name == "Err" && len(call.Args) == 0:
		a.name = a.answerName()
		a.edits = []analysis.TextEdit{{Pos: a.e.Call.End(), End: call.End(), NewText: []byte(".Scan(&" + a.name + ")")}}
		return true
	case read.Sel.Name == "Scan" && len(call.Args) == 1:
		ref, ok := call.Args[0].(*ast.UnaryExpr)
		if !ok || ref.Op != token.AND {
			return false
		}
		v := a.object(ref.X)
		if v == nil || !a.isLocal(v) || !types.Identical(v.Type().Underlying(), types.Typ[types.Bool]) {
			return false
		}
		a.name = v.Name()
		return true
	}
	return false
}

// declares reports whether the fix brings the variable, rather than finding it there.
func (a *answer) declares() bool { return len(a.edits) > 0 }

// constant is the constant text of x, or of the format from which Sprintf makes it.
func (s *site) constant(x ast.Expr) string {
	if call, ok := ast.Unparen(x).(*ast.CallExpr); ok && len(call.Args) > 0 {
		x = call.Args[0]
	}
	if v := s.pass.TypesInfo.Types[x].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// answerName is the name for the answer's variable. A second answer in the same function gets a
// number, whether or not the first one's fix is applied too, so that both can be.
func (s *site) answerName() string {
	base := "unlocked"
	if s.e.Lock.Func.Op == sqltext.Acquire {
		base = "locked"
	}
	before := 0
	ast.Inspect(s.outermost(), func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && call.Pos() < s.e.Call.Pos() && slices.ContainsFunc(call.Args, s.sameOp) {
			before++
		}
		return true
	})
	name := base
	if before > 0 {
		name = fmt.Sprintf("%s%d", base, before+1)
	}
	for !s.unused(name) {
		name += "Now"
	}
	return name
}

var release = regexp.MustCompile(`(?i)unlock|release_lock`)

// sameOp reports whether x is the text of a lock call that acquires, or releases, as the event does.
func (s *site) sameOp(x ast.Expr) bool {
	text := s.constant(x)
	return onlyCall.MatchString(text) && release.MatchString(text) == (s.e.Lock.Func.Op == sqltext.Release)
}

// edit completes the edits by the form of the statement around the call.
func (a *answer) edit() bool {
	switch stmt := a.parent(a.value).(type) {
	case *ast.AssignStmt:
		return a.assignment(stmt)
	case *ast.ExprStmt:
		return a.bare(stmt, stmt.X)
	case *ast.DeferStmt:
		return a.deferredCall(stmt)
	case *ast.ReturnStmt:
		return a.returned(stmt)
	}
	return false
}

func (a *answer) assignment(stmt *ast.AssignStmt) bool {
	want := 1
	if a.exec {
		want = 2
	}
	if len(stmt.Rhs) != 1 || len(stmt.Lhs) != want || a.exec && !isBlank(stmt.Lhs[0]) {
		return false
	}
	if isBlank(stmt.Lhs[want-1]) {
		return a.bare(stmt, stmt.Rhs[0])
	}
	err := a.object(stmt.Lhs[want-1])
	if err == nil || !isError(err.Type()) {
		return false
	}
	check, inCheck := a.parent(stmt).(*ast.IfStmt)
	before := ast.Stmt(stmt)
	if inCheck {
		before = check
	}
	if inCheck && check.Init != stmt || !a.declare(before) {
		return false
	}
	if a.exec {
		a.edits = append(a.edits, cut(stmt.Lhs[0].Pos(), stmt.Lhs[1].Pos()))
	}
	if inCheck {
		return a.afterCheck(check, err)
	}
	list, i, _ := a.statement()
	if i+1 < len(list) {
		if check, ok := list[i+1].(*ast.IfStmt); ok && check.Init == nil && a.terminates(check) && a.afterCheck(check, err) {
			return true
		}
	}
	return a.intoError(stmt, err)
}

func isBlank(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "_"
}

// declare puts the variable's declaration before a statement that stands in a list.
func (a *answer) declare(before ast.Stmt) bool {
	list, i, ok := a.statement()
	if !ok || list[i] != before {
		return false
	}
	if a.declares() {
		a.edits = append(a.edits, insert(before.Pos(), "var "+a.name+" bool\n"+a.indent(before.Pos())))
	}
	return true
}

// intoError makes a no an error in the variable that the call's own error is in, for whatever
// follows to handle.
func (a *answer) intoError(stmt ast.Stmt, err types.Object) bool {
	expr, imports, ok := a.newError(a.refusal(), stmt.End())
	if !ok {
		return false
	}
	in := a.indent(stmt.Pos())
	a.imports = imports
	a.edits = append(a.edits, insert(a.lineEnd(stmt.End()), fmt.Sprintf("\n%sif %s == nil && !%s {\n%s\t%s = %s\n%s}",
		in, err.Name(), a.name, in, err.Name(), expr, in)))
	return true
}

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

// afterCheck handles a no as check, which is if err != nil { … }, handles the error.
func (a *answer) afterCheck(check *ast.IfStmt, err types.Object) bool {
	if check.Else != nil || !a.isNotNil(check.Cond) || a.object(check.Cond.(*ast.BinaryExpr).X) != err {
		return false
	}
	if !a.mentions(check.Body, err) {
		a.edits = append(a.edits, insert(check.Cond.End(), " || !"+a.name))
		return true
	}
	body, ok := a.like(check.Body, err)
	if !ok {
		return false
	}
	in := a.indent(check.Pos())
	block := fmt.Sprintf("if !%s {%s\n%s}", a.name, body, in)
	if a.terminates(check) {
		a.edits = append(a.edits, insert(a.lineEnd(check.End()), "\n"+in+block))
	} else {
		a.edits = append(a.edits, insert(check.End(), " else "+block))
	}
	return true
}

// terminates reports whether nothing after check runs when its body has.
func (a *answer) terminates(check *ast.IfStmt) bool {
	if len(check.Body.List) == 0 {
		return false
	}
	switch check.Body.List[len(check.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
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

// bare handles a call whose error is thrown away too. An acquire that fails must not go on; after a
// release the function goes on as before, and says what went wrong.
func (a *answer) bare(stmt ast.Stmt, call ast.Expr) bool {
	if !a.declare(stmt) {
		return false
	}
	// What stands before the call is "_, _ = " or nothing.
	before := cut(stmt.Pos(), call.Pos())
	if ret, ok := a.failure(stmt); ok {
		expr, imports, ok := a.newError(a.refusal(), stmt.End())
		in := a.indent(stmt.Pos())
		a.imports = imports
		before.NewText = []byte("if err := ")
		a.edits = append(a.edits, before,
			insert(call.End(), fmt.Sprintf("; err != nil {\n%s\t%s\n%s}\n%sif !%s {\n%s\t%s\n%s}",
				in, fmt.Sprintf(ret, "err"), in, in, a.name, in, fmt.Sprintf(ret, expr), in)))
		return ok
	}
	say, ok := a.logged(stmt.Pos())
	if !ok || a.e.Lock.Func.Op == sqltext.Acquire {
		return false
	}
	before.NewText = []byte("if err := ")
	a.edits = append(a.edits, before, insert(call.End(), a.logBlock(say, a.indent(stmt.Pos()))))
	return true
}

func (a *answer) logBlock(say, indent string) string {
	return fmt.Sprintf("; err != nil || !%s {\n%s\t%s\n%s}", a.name, indent, say, indent)
}

// logged is a call of log or slog that says that the release failed, when the file has one of them.
func (a *answer) logged(p token.Pos) (string, bool) {
	what := strings.TrimSuffix(a.refusal(), "held") + "released"
	if name, ok := a.has("log/slog", p); ok {
		return fmt.Sprintf("%s.Error(%q, \"answer\", %s, \"error\", err)", name, what, a.name), true
	}
	if name, ok := a.has("log", p); ok {
		return fmt.Sprintf("%s.Printf(\"%s: answer %%t, error %%v\", %s, err)", name, what, a.name), true
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

// deferredCall turns defer conn.Exec(…) into a deferred function that reads the answer and logs a
// no. Its arguments are then evaluated later, so they must be variables that are set once.
func (a *answer) deferredCall(stmt *ast.DeferStmt) bool {
	say, ok := a.logged(stmt.Pos())
	if !ok || a.e.Lock.Func.Op == sqltext.Acquire || !a.declares() || !a.settled(stmt.Call) {
		return false
	}
	in := a.indent(stmt.Pos())
	a.edits = append(a.edits,
		insert(stmt.Call.Pos(), fmt.Sprintf("func() {\n%s\tvar %s bool\n%s\tif err := ", in, a.name, in)),
		insert(stmt.Call.End(), a.logBlock(say, in+"\t")+"\n"+in+"}()"))
	return true
}

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

// returned opens a return of the call's error.
func (a *answer) returned(stmt *ast.ReturnStmt) bool {
	if a.exec || len(stmt.Results) != 1 || stmt.Results[0] != a.value || !a.declare(stmt) {
		return false
	}
	expr, imports, ok := a.newError(a.refusal(), stmt.End())
	in := a.indent(stmt.Pos())
	a.imports = imports
	open := cut(stmt.Pos(), a.value.Pos())
	open.NewText = []byte("if err := ")
	a.edits = append(a.edits, open,
		insert(a.value.End(), fmt.Sprintf("; err != nil {\n%s\treturn err\n%s}", in, in)),
		insert(a.lineEnd(stmt.End()), fmt.Sprintf("\n%sif !%s {\n%s\treturn %s\n%s}\n%sreturn nil", in, a.name, in, expr, in, in)))
	return ok
}
