package suppress

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text   string
		ok     bool
		nolint bool
		rules  string
		reason string
	}{
		{text: "//lint:ignore poollock capped at one", ok: true, rules: "poollock", reason: "capped at one"},
		{text: "//lint:ignore poollock,lockleak  held for good ", ok: true, rules: "poollock lockleak", reason: "held for good"},
		{text: "//lint:ignore poollock", ok: true, rules: "poollock"},
		{text: "//lint:ignore"},
		{text: "// lint:ignore poollock a sentence about the directive"},
		{text: "//lint:ignored poollock x"},
		{text: "/*lint:ignore poollock x*/"},
		{text: "//nolint", ok: true, nolint: true},
		{text: "// nolint", ok: true, nolint: true},
		{text: "//nolint // because", ok: true, nolint: true, reason: "because"},
		{text: "//nolint:poollock", ok: true, nolint: true, rules: "poollock"},
		{text: "//nolint:PoolLock, gosec // because", ok: true, nolint: true, rules: "poollock gosec", reason: "because"},
		{text: "//nolint:poollock because", ok: true, nolint: true, rules: "poollock"},
		{text: "//nolintlint is a linter"},
		{text: "/* nolint */"},
		{text: "// a comment on nolint"},
	} {
		d := parse(test.text)
		if (d != nil) != test.ok {
			t.Errorf("%q: is a directive: %t, want %t", test.text, d != nil, test.ok)
			continue
		}
		if d == nil {
			continue
		}
		if got := strings.Join(d.rules, " "); d.nolint != test.nolint || got != test.rules || d.reason != test.reason {
			t.Errorf("%q: got nolint %t, rules %q, reason %q", test.text, d.nolint, got, d.reason)
		}
	}
}

// run runs a rule that reports every call of bad, and gives the lines of what reaches the driver: "5"
// for a finding on line 5, "5: message" for what suppress itself says there.
func run(t *testing.T, rule, src string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	pass := &analysis.Pass{
		Analyzer: &analysis.Analyzer{Name: rule},
		Fset:     fset,
		Files:    []*ast.File{file},
		Report: func(d analysis.Diagnostic) {
			line := strings.Split(fset.Position(d.Pos).String(), ":")[1]
			if d.Message != "bad" {
				line += ": " + d.Message
			}
			got = append(got, line)
		},
	}
	_, err = Run(func(pass *analysis.Pass) error {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "bad" {
					pass.Report(analysis.Diagnostic{Pos: call.Pos(), Message: "bad"})
				}
			}
			return true
		})
		return nil
	})(pass)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const (
	unmatched  = ": this lint:ignore matches no finding of poollock: remove it"
	unreasoned = ": this lint:ignore has no reason and is not followed: say after poollock why it is no mistake here"
)

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name string
		src  string // after the package clause, from line 2
		want []string
	}{
		{"no directive", "func f() { bad() }", []string{"2"}},
		{"line before", "func f() {\n//lint:ignore poollock why\nbad()\nbad()\n}", []string{"5"}},
		{"same line", "func f() {\nbad() //lint:ignore poollock why\nbad()\n}", []string{"4"}},
		{"line after a trailing one", "func f() {\nvar _ = 1 //lint:ignore poollock why\nbad()\n}", []string{"4", "3" + unmatched}},
		{"text below in its group", "func f() {\n//lint:ignore poollock why\n// and more of it\nbad()\n}", nil},
		{"an empty line between", "func f() {\n//lint:ignore poollock why\n\nbad()\n}", []string{"5", "3" + unmatched}},
		{"another rule", "func f() {\n//lint:ignore lockleak why\nbad()\n}", []string{"4"}},
		{"two rules", "func f() {\n//lint:ignore lockleak,poollock why\nbad()\n}", nil},
		{"two rules, no match", "//lint:ignore lockleak,poollock why\nfunc f() {}", nil},
		{"no match", "//lint:ignore poollock why\nfunc f() {}", []string{"2" + unmatched}},
		{"no match of another rule", "//lint:ignore lockleak why\nfunc f() {}", nil},
		{"no reason", "func f() {\n//lint:ignore poollock\nbad()\n}", []string{"4", "3" + unreasoned}},
		{"no reason, second of two", "func f() {\n//lint:ignore lockleak,poollock\nbad()\n}", []string{"4"}},
		{"ignore reaches one line", "//lint:ignore poollock why\nfunc f() {\nbad()\n}", []string{"4", "2" + unmatched}},
		{"two ignores, one finding", "func f() {\n//lint:ignore poollock why\nbad() //lint:ignore poollock why\n}", nil},
		{"two findings, one ignore", "func f() {\n//lint:ignore poollock why\nbad(); bad()\n}", nil},
		{"nolint of all", "func f() {\nbad() //nolint\n}", nil},
		{"nolint of the tool", "func f() {\nbad() //nolint:advisorylint\n}", nil},
		{"nolint of the rule", "func f() {\nbad() //nolint:gosec,poollock // why\n}", nil},
		{"nolint of another rule", "func f() {\nbad() //nolint:gosec\n}", []string{"3"}},
		{"nolint of a function", "//nolint:poollock\nfunc f() {\nbad()\n}\nfunc g() { bad() }", []string{"6"}},
		{"nolint of a statement", "func f() {\n//nolint:poollock\nif true {\nbad()\n}\nbad()\n}", []string{"7"}},
		{"nolint after code reaches one line", "func f() { //nolint:poollock\nbad()\n}", []string{"3"}},
		{"nolint that matches nothing", "//nolint:poollock\nfunc f() {}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, "poollock", "package p\n"+test.src); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNolintOfAFile(t *testing.T) {
	if got := run(t, "poollock", "//nolint:poollock\npackage p\n\nfunc f() {\nbad()\n}\n"); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}

// What was kept back is there for drivers that list it, with the words that say why.
func TestHeldFindingsSayWhy(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", `package p

var a = 1 //nolint:poollock // capped at one
//lint:ignore poollock tried by hand
var b = 1
var c = 1
//nolint:gosec,advisorylint // all the same
var d = 1 //nolint:poollock
`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	result, err := Run(func(pass *analysis.Pass) error {
		for _, d := range file.Decls {
			pass.Report(analysis.Diagnostic{Pos: d.Pos(), Message: "bad"})
		}
		return nil
	})(&analysis.Pass{
		Analyzer: &analysis.Analyzer{Name: "poollock"}, Fset: fset, Files: []*ast.File{file},
		Report: func(analysis.Diagnostic) { reported++ },
	})
	if err != nil || reported != 1 {
		t.Fatalf("%d findings reach the driver, error %v, want c's", reported, err)
	}
	var got []string
	for _, h := range result.Held {
		got = append(got, fmt.Sprint(fset.Position(h.Diagnostic.Pos).Line, " ", h.Kind, " ", h.Suite, " ", h.Reason))
	}
	want := []string{"3 nolint false capped at one", "5 lint:ignore false tried by hand", "8 nolint true all the same"}
	if !slices.Equal(got, want) {
		t.Errorf("held are %q, want %q", got, want)
	}
}

// The fix of an ignore that matches nothing takes its line away and nothing else.
func TestRemoval(t *testing.T) {
	for src, want := range map[string]string{
		"package p\n\n//lint:ignore poollock why\nvar a = 1\n":   "package p\n\nvar a = 1\n",
		"package p\n\nvar a = 1 //lint:ignore poollock why\n":    "",
		"package p\n\nvar a = 1\n\n//lint:ignore poollock why":   "",
		"package p\n\nfunc f() {\n\t//lint:ignore poollock y\n}": "package p\n\nfunc f() {\n}",
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		got := "no finding"
		_, err = Run(func(*analysis.Pass) error { return nil })(&analysis.Pass{
			Analyzer: &analysis.Analyzer{Name: "poollock"}, Fset: fset, Files: []*ast.File{file},
			Report: func(d analysis.Diagnostic) {
				got = ""
				for _, fix := range d.SuggestedFixes {
					e := fix.TextEdits[0]
					got = src[:fset.Position(e.Pos).Offset] + string(e.NewText) + src[fset.Position(e.End).Offset:]
				}
			},
		})
		if err != nil || got != want {
			t.Errorf("%q: got %q, want %q, error %v", src, got, want, err)
		}
	}
}
