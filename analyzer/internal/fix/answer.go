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
// place there is no fix. A release that the runtime has a function for calls that instead: where the
// program has the runtime, this is the fix; where it does not, it is the second one, for editors, which
// offer both and fetch the module, while a run that applies fixes takes the first.
func ReadAnswer(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil {
		return nil
	}
	short := s.dropIn()
	if short != nil && short.there() {
		return short.suggest()
	}
	a, ok := s.answer()
	if !ok || !a.edit() {
		return nil
	}
	fixes := s.fix("Read the answer of "+e.Lock.Func.Name, a.edits, a.imports...)
	if short != nil && len(fixes) > 0 {
		fixes = append(fixes, short.suggest()...)
	}
	return fixes
}

// answer is a sending call that can be made to read its answer.
type answer struct {
	*site
	value ast.Expr // the expression whose (last) value is the error
	exec  bool     // value is Exec, with a result before its error
	name  string   // the variable for the answer; "" when a no is an error

	edits, imports []analysis.TextEdit
}

// onlyCall matches a statement that returns the answer of one function and nothing else. Holes of
// Sprintf are fine: they stand in the arguments.
var onlyCall = regexp.MustCompile(`(?is)^\s*select` + oneCall)

const oneCall = `\s+[\w.]+\s*\((?:[^()';]|'[^']*'|\([^()';]*\))*\)\s*(?:as\s+\w+\s*)?;?\s*$`

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

// row is the method that reads the one row of a call QueryRow(…), and the call of it; nil for another
// call, or when nothing reads the row at once.
func (s *site) row(sel *ast.SelectorExpr) (method string, call *ast.CallExpr) {
	if !strings.HasPrefix(sel.Sel.Name, "QueryRow") {
		return "", nil
	}
	if method, call = s.reading(s.e.Call); method == "" {
		return "", nil
	}
	return method, call
}

// fromRow takes QueryRow(…).Scan(&ok), with ok a local bool, and QueryRow(…).Err().
func (a *answer) fromRow(sel *ast.SelectorExpr) bool {
	method, call := a.row(sel)
	if call == nil {
		return false
	}
	a.value = call
	switch {
	case method == "Err" && len(call.Args) == 0:
		a.name = a.answerName()
		a.edits = []analysis.TextEdit{{Pos: a.e.Call.End(), End: call.End(), NewText: []byte(".Scan(&" + a.name + ")")}}
		return true
	case method == "Scan" && len(call.Args) == 1:
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
