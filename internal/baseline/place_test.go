package baseline

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// at gives the place of the first text in src.
func at(t *testing.T, src, text string) (in, at string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	offset := strings.Index(src, text)
	if offset < 0 {
		t.Fatalf("no %q in\n%s", text, src)
	}
	pos := fset.File(file.FileStart).Pos(offset)
	end := pos + token.Pos(len(text))
	return In(file, pos), At(fset, file, pos, end)
}

const declarations = `package shop

import "net/http"

// lint:ignore above
func init() { one() }

func (s *Shelf[K, V]) Take() { go func() { two() }() }
func (s Shelf[K]) Give() { three() }
func (Shelf) Lend() { four() }
func (s *(Shelf)) Send() { five() }

var first, second = six(), 0

var handler = func() { seven() }

type Kind [eight]int

// nine is no part of anything.

func big() {}
`

func TestInNamesTheDeclaration(t *testing.T) {
	for text, want := range map[string]string{
		"one()": "init", "two()": "(*Shelf).Take", "three()": "Shelf.Give", "four()": "Shelf.Lend", "five()": "(*Shelf).Send",
		"six()": "first, second", "seven()": "handler", "eight": "Kind",
		"// lint:ignore": "init", "// nine": "", `"net/http"`: "", "package": "",
	} {
		if got, _ := at(t, declarations, text); got != want {
			t.Errorf("%s is in %q, want %q", text, got, want)
		}
	}
}

func TestAtWritesTheCall(t *testing.T) {
	for call, want := range map[string]string{
		`db.Exec(ctx,"SELECT 1",x)`: `db.Exec(ctx, "SELECT 1", x)`,
		"db.Exec(\n\tctx, // the request's\n\t`SELECT\n 1`,\n\t/* key */ x,\n)": "db.Exec(ctx, `SELECT\n 1`, x)",
		"db.Exec(`SELECT\r\n 1`)":                                          "db.Exec(`SELECT\n 1`)",
		`f(a+b*-c, &d, <-e, *g, !h, a- -b, a<<1|0XFF, x[1:], y...)`:        `f(a + b * -c, &d, <-e, *g, !h, a - -b, a << 1 | 0xff, x[1:], y...)`,
		"f(map[string]int{\n\"a\": 1,\n}, []T{{1}, {2,},})":                `f(map[string]int{"a":1}, []T{{1}, {2}})`,
		`f(x, func(c chan<- int) error { if x { return nil }; return y })`: `f(x, func(c chan<-int)error{})`,
		`f(func() { g(func() { h() }) }, interface{ M() }(nil))`:           `f(func(){}, interface{M()}(nil))`,
		`(*p).f((1E3), 'x')`:                                               `(*p).f((1e3), 'x')`,
	} {
		src := "package shop\n\nfunc big() { _ = " + call + " }\n"
		if _, got := at(t, src, call); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", call, got, want)
		}
		formatted, err := format.Source([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(formatted), " = ")
		rest = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "}"))
		if _, got := at(t, string(formatted), rest); got != want {
			t.Errorf("as gofmt has it\n%s\ngot  %q\nwant %q", formatted, got, want)
		}
	}
}

// What differs in more than its layout is another call.
func TestAtTellsCallsApart(t *testing.T) {
	calls := []string{
		`f(a, b)`, `f(b, a)`, `f(a)`, `f(a, b, c)`, `g(a, b)`, `x.f(a, b)`, `f(a - b)`, `f(a, -b)`, `f("a b")`, `f("a  b")`,
		`f(1.0)`, `f(10)`, `f(a[b])`, `f(a & b)`, `f(a && b)`, `f(a &^ b)`, `f(func() int { return a })`, `f(func() { a() })`,
	}
	seen := map[string]string{}
	for _, call := range calls {
		_, got := at(t, "package shop\n\nvar _ = "+call+"\n", call)
		if seen[got] != "" || got == "" {
			t.Errorf("%s is written %q, as %s", call, got, seen[got])
		}
		seen[got] = call
	}
}

// Findings that are at less than a call, or at a comment.
func TestAtWithoutTheCall(t *testing.T) {
	const src = "package shop\n\n//lint:ignore  poollock\tone\nfunc big() {\n\tdefer db.Exec(one,\n\t\ttwo) //nolint:all\n\tx++\n\tif y {}\n}\n"
	for text, want := range map[string]string{
		"db": "db", "(one": "db.Exec(one, two)", "//lint:ignore": "//lint:ignore poollock one", "//nolint": "//nolint:all", "x++": "x ++", "{}": "", "package": "",
	} {
		if _, got := at(t, src, text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pos := fset.File(file.FileStart).Pos(strings.Index(src, "Exec"))
	if got := At(fset, file, pos, token.NoPos); got != "db.Exec(one, two)" {
		t.Errorf("without an end: got %q", got)
	}
}

// A fix may still need the bodies.
func TestAtLeavesTheSyntaxAsItWas(t *testing.T) {
	const src = "package shop\n\nvar _ = f(func() { g() })\n"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	call := file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values[0].(*ast.CallExpr)
	if got := At(fset, file, call.Pos(), call.End()); got != "f(func(){})" {
		t.Errorf("got %q", got)
	}
	if body := call.Args[0].(*ast.FuncLit).Body.List; len(body) != 1 {
		t.Errorf("the body has %d statements, want 1", len(body))
	}
}

func TestLongCallsAreCut(t *testing.T) {
	seen := map[string]bool{}
	for _, last := range []string{"x", "y"} {
		call := "f(`" + strings.Repeat("ä", 400) + "`, " + last + ")"
		_, got := at(t, "package shop\n\nvar _ = "+call+"\n", call)
		if len(got) > long || !strings.HasPrefix(got, "f(`ää") || !strings.Contains(got, "ä … ") || seen[got] {
			t.Errorf("got %q", got)
		}
		seen[got] = true
	}
}
