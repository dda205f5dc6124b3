package fix

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/txtar"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

var update = flag.Bool("update", false, "write the fixed programs into testdata")

type builder func(*analysis.Pass, *lockflow.Event) []analysis.SuggestedFix

// TestBuilders applies each builder to the programs of its archive. A program x.go has the call on a
// line that ends in "// here"; x.fixed is the program after the fix, x.second after the other one that
// is offered, and a program without them must get no fix. What is not in the text stands in a first
// line "// cleanup: defer" and the like.
func TestBuilders(t *testing.T) {
	builders := map[string]builder{
		"detach": Detach, "reorder": Reorder, "limit": LowerLimit, "answer": first(ReadAnswer),
		"dropin": ReadAnswer, "setting": FoldSetting, "ontx": OnTx, "onconn": OnConn,
		"leasedelete": DeleteIfEqual, "leaseextend": ExpireIfEqual, "leaseexpiry": FoldExpiry, "leasedetach": Detach,
	}
	for name, build := range builders {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fixed := map[string]string{}
			for _, f := range archive.Files {
				fixed[f.Name] = string(f.Data)
			}
			var out []txtar.File
			for _, f := range archive.Files {
				base, isProgram := strings.CutSuffix(f.Name, ".go")
				if !isProgram {
					continue
				}
				out = append(out, f)
				got := runBuilder(t, build, f.Name, string(f.Data))
				for i, suffix := range []string{".fixed", ".second"} {
					after := ""
					if i < len(got) {
						after = got[i]
						out = append(out, txtar.File{Name: base + suffix, Data: []byte(after)})
					}
					if want := fixed[base+suffix]; !*update && after != want {
						t.Errorf("%s is fixed to\n%s\nwant\n%s", base+suffix, after, want)
					}
				}
			}
			if *update {
				archive.Files = out
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// first leaves what else is offered out.
func first(build builder) builder {
	return func(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
		fixes := build(pass, e)
		return fixes[:min(1, len(fixes))]
	}
}

// runBuilder gives the program after each fix, which must compile and be formatted.
func runBuilder(t *testing.T, build builder, name, src string) (fixed []string) {
	t.Helper()
	pass, file := check(t, name, src)
	if pass == nil {
		return nil
	}
	e := event(t, pass, file, src)
	s := newSite(pass, e)
	for _, f := range build(pass, e) {
		edits := slices.Clone(f.TextEdits)
		slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int { return cmp.Compare(a.Pos, b.Pos) })
		got := string(s.apply(edits))
		if clean, err := format.Source([]byte(got)); err != nil || string(clean) != got {
			t.Errorf("%s: the program is not formatted (%v) after %q:\n%s", name, err, f.Message, got)
		}
		check(t, fmt.Sprintf("%s after %q", name, f.Message), got)
		fixed = append(fixed, got)
	}
	return fixed
}

func check(t *testing.T, name, src string) (*analysis.Pass, *ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil, nil
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	conf := types.Config{Importer: declared{}, GoVersion: "go1.26"}
	pkg, err := conf.Check("p", fset, []*ast.File{file}, info)
	if err != nil {
		t.Errorf("%s does not compile: %v\n%s", name, err, src)
		return nil, nil
	}
	return &analysis.Pass{
		Fset: fset, Files: []*ast.File{file}, Pkg: pkg, TypesInfo: info,
		ReadFile: func(string) ([]byte, error) { return []byte(src), nil },
	}, file
}

// declared imports the standard library, and of other packages what testdata/declarations.txtar has.
type declared struct{}

var (
	standardLibrary = importer.Default()
	declarations    = map[string]*types.Package{}
)

func (declared) Import(path string) (*types.Package, error) {
	if standard(path) {
		return standardLibrary.Import(path)
	}
	if pkg := declarations[path]; pkg != nil {
		return pkg, nil
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "declarations.txtar"))
	if err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		if f.Name != path {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, f.Data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		conf := types.Config{Importer: declared{}, IgnoreFuncBodies: true}
		declarations[path], err = conf.Check(path, fset, []*ast.File{file}, nil)
		return declarations[path], err
	}
	return nil, fmt.Errorf("%s is not declared", path)
}

var (
	lockName = regexp.MustCompile(`(?i)\b(pg_\w*advisory\w*|get_lock|release_lock)\(([^)]*)`)
	timeout  = regexp.MustCompile(`lock_timeout(?:'?\s*[=,]|\s+to)\s*'?([\w$]+)`)
	verb     = regexp.MustCompile(`%[a-z]`)
	pragma   = regexp.MustCompile(`(?m)^// (\w+): (.*)$`)
)

// event makes the event of the marked call, as lockflow would.
func event(t *testing.T, pass *analysis.Pass, file *ast.File, src string) *lockflow.Event {
	t.Helper()
	e := &lockflow.Event{File: file}
	ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || e.Call != nil || !marked(pass.Fset, src, call) {
			return true
		}
		send, ok := commanding(pass.TypesInfo, call)
		if ok {
			e.Lease = &lockflow.Lease{System: "Redis", Library: goRedis}
		} else {
			send, ok = sending(pass.TypesInfo, call)
		}
		if !ok && !strings.Contains(types.ExprString(call.Fun), "release") {
			return true
		}
		e.Call, e.Pos, e.Send = call, call.Pos(), send
		if !ok {
			e.Inner = &lockflow.Event{}
		}
		for _, n := range stack {
			switch n.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				e.Func = n
			}
		}
		return true
	})
	if e.Call == nil {
		t.Fatal("no call is marked")
	}
	describe(pass, e)
	for _, m := range pragma.FindAllStringSubmatch(src, -1) {
		switch m[1] {
		case "cleanup":
			e.Cleanup = map[string]lockflow.Cleanup{"defer": lockflow.InDefer, "done": lockflow.AfterDone}[m[2]]
		case "answer":
			e.Answer = map[string]lockflow.AnswerUse{"unread": lockflow.AnswerUnread, "read": lockflow.AnswerRead}[m[2]]
		case "below": // a package that the program has, but not this file
			pkg, err := declared{}.Import(m[2])
			if err != nil {
				t.Fatal(err)
			}
			pass.Pkg.SetImports(append(pass.Pkg.Imports(), pkg))
		case "go":
			pass.TypesInfo.FileVersions[file] = m[2]
		}
	}
	return e
}

func marked(fset *token.FileSet, src string, call *ast.CallExpr) bool {
	lines := strings.Split(src, "\n")
	return strings.HasSuffix(lines[fset.PositionFor(call.Pos(), false).Line-1], "// here")
}

// sending reads the syntax of a method call with an SQL text.
func sending(info *types.Info, call *ast.CallExpr) (lockflow.SendSyntax, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return lockflow.SendSyntax{}, false
	}
	send := lockflow.SendSyntax{Method: sel.Sel.Name, Handle: sel.X}
	for i, arg := range call.Args {
		switch {
		case isContext(info.TypeOf(arg)):
			send.Ctx = arg
		case send.SQL == nil && types.Identical(types.Default(info.TypeOf(arg)), types.Typ[types.String]):
			send.SQL = arg
			send.Args = call.Args[i+1:]
			return send, info.Selections[sel] != nil
		}
	}
	return send, false
}

// commanding reads the syntax of a method call that sends a command, or runs a script, with go-redis.
func commanding(info *types.Info, call *ast.CallExpr) (lockflow.SendSyntax, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || info.Selections[sel] == nil || len(call.Args) == 0 || !isContext(info.TypeOf(call.Args[0])) {
		return lockflow.SendSyntax{}, false
	}
	f := info.Uses[sel.Sel].(*types.Func)
	return lockflow.SendSyntax{Method: sel.Sel.Name, Handle: sel.X, Ctx: call.Args[0], Args: call.Args[1:]}, f.Pkg().Path() == goRedis
}

// describe fills in what lockflow knows of the text and of the handle.
func describe(pass *analysis.Pass, e *lockflow.Event) {
	if e.Lease != nil {
		return
	}
	if e.Send.SQL == nil {
		e.Lock = &sqltext.Call{Func: &sqltext.Func{Name: "pg_advisory_unlock", Op: sqltext.Release}}
		return
	}
	e.Handle.Name = types.ExprString(e.Send.Handle)
	e.Handle.Type = types.TypeString(pass.TypesInfo.TypeOf(e.Send.Handle), (*types.Package).Name)
	text := ""
	ast.Inspect(e.Send.SQL, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && pass.TypesInfo.Types[x].Value != nil && text == "" {
			text = constant.StringVal(pass.TypesInfo.Types[x].Value)
		}
		return true
	})
	e.Script = &sqltext.Script{Stmts: make([]sqltext.Statement, 1)}
	e.Stmt = &e.Script.Stmts[0]
	if m := timeout.FindStringSubmatch(text); m != nil {
		e.Setting = &sqltext.Setting{Name: "lock_timeout", Local: sqltext.Yes, Value: sqltext.Arg{Kind: sqltext.Literal, Text: m[1]}}
		if m[1][0] == '$' {
			e.Setting.Value = sqltext.Arg{Kind: sqltext.Placeholder}
		}
	}
	parsed := sqltext.Parse(sqltext.Text{Lits: verb.Split(text, -1)})
	for i, m := range lockName.FindAllStringSubmatch(text, -1) {
		f := &sqltext.Func{Name: strings.ToLower(m[1]), Xact: strings.Contains(m[1], "xact"), Try: strings.Contains(m[1], "try")}
		if !strings.HasPrefix(f.Name, "pg_") {
			f.System = sqltext.MySQL
		}
		if strings.Contains(f.Name, "unlock") || f.Name == "release_lock" {
			f.Op = sqltext.Release
		}
		e.Stmt.Calls = append(e.Stmt.Calls, sqltext.Call{Func: f, Args: parsed.Stmts[0].Calls[i].Args})
		e.Lock = &e.Stmt.Calls[0]
	}
}
