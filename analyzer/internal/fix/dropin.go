package fix

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// A dropIn is a function of the runtime, func(ctx, handle, args...) error, that does what a statement
// with one lock call does, whether or not ctx is cancelled, and makes an answer of no an error.
type dropIn struct {
	function string // the lock function that the statement calls
	handle   string // type of the handle, its package by path
	pkg      string
	fn       string
	args     []argument // of the lock function, in its order
}

const (
	module    = "github.com/advisorylint/advisorylint"
	pglock    = module + "/runtime/pglock"
	pgxlock   = module + "/runtime/pgxlock"
	mysqllock = module + "/runtime/mysqllock"

	sqlConn  = "*database/sql.Conn"
	pgxConn  = "*github.com/jackc/pgx/v5.Conn"
	poolConn = "*github.com/jackc/pgx/v5/pgxpool.Conn"
)

// dropIns are the runtime's. A call for which there is none, that of a key of two numbers for example,
// gets the longer fix.
var dropIns = []dropIn{
	{"pg_advisory_unlock", sqlConn, pglock, "Unlock", []argument{integer}},
	{"pg_advisory_unlock_shared", sqlConn, pglock, "UnlockShared", []argument{integer}},
	{"pg_advisory_unlock", pgxConn, pgxlock, "Unlock", []argument{integer}},
	{"pg_advisory_unlock_shared", pgxConn, pgxlock, "UnlockShared", []argument{integer}},
	{"pg_advisory_unlock", poolConn, pgxlock, "Unlock", []argument{integer}},
	{"pg_advisory_unlock_shared", poolConn, pgxlock, "UnlockShared", []argument{integer}},
	{"release_lock", sqlConn, mysqllock, "Release", []argument{text}},
}

// short is a call that a function of the runtime can take the place of.
type short struct {
	*answer
	dropIn
	call string // the new call
}

// dropIn finds the function of the runtime for the site; nil when there is none, or when no edit of
// this one place brings it in.
func (s *site) dropIn() *short {
	sel, sends := s.sends()
	if !sends || s.e.Lock == nil || s.e.Send.Ctx == nil || s.ours() || s.orphans(s.e.Send.SQL) ||
		!soleCall.MatchString(s.constant(s.e.Send.SQL)) {
		return nil
	}
	handle := types.TypeString(types.Unalias(s.pass.TypesInfo.TypeOf(sel.X)), nil)
	at := slices.IndexFunc(dropIns, func(d dropIn) bool {
		return d.function == s.e.Lock.Func.Name && d.handle == handle
	})
	if at < 0 {
		return nil
	}
	d := &short{answer: &answer{site: s, value: s.e.Call}, dropIn: dropIns[at]}
	args, ok := s.arguments(d.args)
	pkg, imports, found := s.importedOrAlias(d.pkg, s.e.Call.Pos())
	if !ok || !found || !d.result(sel) {
		return nil
	}
	d.imports = imports
	d.call = pkg + "." + d.fn + "(" + strings.Join(append([]string{s.node(s.e.Send.Ctx), s.node(sel.X)}, args...), ", ") + ")"
	if !d.edit() {
		return nil
	}
	return d
}

// soleCall matches what onlyCall does, and MySQL's DO, which answers nothing.
var soleCall = regexp.MustCompile(`(?is)^\s*(?:select|do)` + oneCall)

// ours reports whether the package is one that the runtime is made of, which cannot import it.
func (s *site) ours() bool {
	p := s.pass.Pkg.Path()
	return strings.HasPrefix(p, module+"/runtime/") || strings.HasPrefix(p, "github.com/jackc/pgx/") || p == "database/sql"
}

// there reports whether the function can be called with no change to the module.
func (d *short) there() bool { return d.below(d.pkg) }

// below reports whether the package has another below it, so that importing it needs nothing of go.mod,
// go.sum or a vendor folder.
func (s *site) below(importPath string) bool {
	seen := map[*types.Package]bool{}
	var below func(*types.Package) bool
	below = func(p *types.Package) bool {
		if seen[p] {
			return false
		}
		seen[p] = true
		return p.Path() == importPath || slices.ContainsFunc(p.Imports(), below)
	}
	return below(s.pass.Pkg)
}

// suggest is the fix. Its message says what it needs where the program does not have the runtime yet.
func (d *short) suggest() []analysis.SuggestedFix {
	message := "Release with " + d.called()
	if !d.there() {
		message += " (needs go get " + module + ")"
	}
	return d.fix(message, d.edits, d.imports...)
}

// called is the function by its usual name.
func (d *short) called() string { return path.Base(d.pkg) + "." + d.fn }

// result finds the expression that has the call's error, and makes sure that nothing else that the
// call gives is used.
func (d *short) result(sel *ast.SelectorExpr) bool {
	if queries[sel.Sel.Name] != "" {
		d.exec = true
		return true
	}
	method, call := d.row(sel)
	if call == nil {
		return false
	}
	d.value = call
	switch method {
	case "Err":
		return true
	case "Scan":
		return len(call.Args) == 1 && d.forgets(call.Args[0])
	}
	return false
}

// forgets takes away what an answer is scanned into: a new variable without a name, or one that is
// declared by the statement above and named nowhere else.
func (d *short) forgets(dest ast.Expr) bool {
	if call, ok := dest.(*ast.CallExpr); ok {
		return d.pass.TypesInfo.Types[call.Fun].IsBuiltin() && !d.orphans(call)
	}
	ref, ok := dest.(*ast.UnaryExpr)
	if !ok || ref.Op != token.AND {
		return false
	}
	v := d.object(ref.X)
	list, i, ok := d.statement()
	if v == nil || !ok || i == 0 {
		return false
	}
	decl, ok := list[i-1].(*ast.DeclStmt)
	if !ok {
		return false
	}
	gen := decl.Decl.(*ast.GenDecl)
	spec, ok := gen.Specs[0].(*ast.ValueSpec)
	if !ok || len(gen.Specs) != 1 || len(spec.Names) != 1 || len(spec.Values) != 0 || d.object(spec.Names[0]) != v {
		return false
	}
	between := d.text(decl.End(), list[i].Pos())
	if d.orphans(decl) || strings.TrimSpace(between) != "" || d.uses(v) != 1 {
		return false
	}
	d.edits = append(d.edits, cut(decl.Pos(), list[i].Pos()))
	return true
}

// edit puts the new call in, by the form of the statement around the old one.
func (d *short) edit() bool {
	switch stmt := d.parent(d.value).(type) {
	case *ast.AssignStmt:
		if !d.exec {
			i := slices.Index(stmt.Rhs, d.value)
			if len(stmt.Lhs) == len(stmt.Rhs) && !isBlank(stmt.Lhs[i]) {
				return d.inPlace()
			}
			return len(stmt.Rhs) == 1 && d.bare(stmt)
		}
		if len(stmt.Rhs) != 1 || len(stmt.Lhs) != 2 || !isBlank(stmt.Lhs[0]) {
			return false
		}
		if isBlank(stmt.Lhs[1]) {
			return d.bare(stmt)
		}
		d.edits = append(d.edits, cut(stmt.Lhs[0].Pos(), stmt.Lhs[1].Pos()))
		return d.inPlace()
	case *ast.ExprStmt:
		return d.bare(stmt)
	case *ast.DeferStmt:
		return d.deferred(stmt)
	case *ast.GoStmt:
		return false
	}
	return !d.exec && d.inPlace()
}

// inPlace leaves the error to whatever handled it.
func (d *short) inPlace() bool {
	d.edits = append(d.edits, replace(d.value, d.call))
	return true
}

// bare ends the function where a return below says that all is well, and logs otherwise.
func (d *short) bare(stmt ast.Stmt) bool {
	list, i, ok := d.statement()
	if !ok || list[i] != stmt {
		return false
	}
	if ret, ok := d.failure(stmt); ok {
		in := d.indent(stmt.Pos())
		d.edits = append(d.edits, replace(stmt, "if err := "+d.call+"; err != nil {\n"+in+"\t"+strings.ReplaceAll(ret, "%s", "err")+"\n"+in+"}"))
		return true
	}
	say, ok := d.logged(stmt.Pos())
	if ok {
		d.edits = append(d.edits, replace(stmt, "if err := "+d.call+d.logBlock(say, d.indent(stmt.Pos()))))
	}
	return ok
}

// deferred logs. The arguments are then evaluated later, so they must be variables that are set once.
func (d *short) deferred(stmt *ast.DeferStmt) bool {
	say, ok := d.logged(stmt.Pos())
	if !ok || !d.settled(d.e.Call) {
		return false
	}
	in := d.indent(stmt.Pos())
	d.edits = append(d.edits, replace(stmt.Call, "func() {\n"+in+"\tif err := "+d.call+d.logBlock(say, in+"\t")+"\n"+in+"}()"))
	return true
}

// arguments are those of the lock call, as the function of the runtime takes them.
func (s *site) arguments(want []argument) (args []string, ok bool) {
	have, sent := s.e.Lock.Args, s.e.Send.Args
	if len(have) != len(want) {
		return nil, false
	}
	placeholders := 0
	for i, a := range have {
		var x ast.Expr
		switch {
		case a.Kind == sqltext.Placeholder && a.Name == "" && a.Index < len(sent):
			x = sent[a.Index]
			placeholders++
		case a.Kind != sqltext.Literal:
			return nil, false
		}
		arg, ok := want[i](s, a, x)
		if !ok {
			return nil, false
		}
		args = append(args, arg)
	}
	return args, placeholders == len(sent)
}
