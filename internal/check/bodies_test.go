package check

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

func TestBodiesAreTakenOut(t *testing.T) {
	for src, want := range map[string]string{
		"func f() { g() }":                     "func f() {     }",
		"func f() {\n\tg()\n}\nvar x = 1\n":    "func f() {\n    \n}\nvar x = 1\n",
		"func (t T) m(f func() int) error { }": "func (t T) m(f func() int) error { }",
		"func f() { s := \"}\"; r := '}'; q := '\\''; w := `}\n`; /* } */ // }\n}\nfunc g() { x }": "func f() {" + strings.Repeat(" ", 39) + "\n" + strings.Repeat(" ", 15) + "\n}\nfunc g() {   }",
		"func f() struct{ x int } { return v }":                                                    "func f() struct{ x int } {          }",
		"func f[T interface{ ~int }](x [len(`{`)]T) { a }":                                         "func f[T interface{ ~int }](x [len(`{`)]T) {   }",
		"func f() map[string]interface {\n\tM()\n} { a }":                                          "func f() map[string]interface {\n\tM()\n} {   }",
		"func asm(x int) int\nvar t = T{1}\n":                                                      "func asm(x int) int\nvar t = T{1}\n",
		"func f(\n\tx int,\n) (y int) {\n\tgo g()\n}\n":                                            "func f(\n\tx int,\n) (y int) {\n       \n}\n",
		"var x = func() int { return 1 }\n":                                                        "var x = func() int { return 1 }\n",
		"const s = `\nfunc f() { text }\n`\nfunc g() { x }":                                        "const s = `\nfunc f() { text }\n`\nfunc g() {   }",
		"/*\nfunc f() { text }\n*/ type T struct{}":                                                "/*\nfunc f() { text }\n*/ type T struct{}",
		"var (\nfunc f() { x }":                                                                    "var (\nfunc f() { x }",
		"func f() { // no end\n":                                                                   "func f() { // no end\n",
		"func f() { \"\\":                                                                          "func f() { \"\\",
		"//line a.go:3\nfunc f() { g() }":                                                          "//line a.go:3\nfunc f() { g() }",
	} {
		if got := string(withoutBodies([]byte(src))); got != want {
			t.Errorf("%q\nbecomes %q\nwant    %q", src, got, want)
		}
	}
}

// Types are the same with and without bodies, down to the byte of their export data.
func TestTypesNeedNoBodies(t *testing.T) {
	c := Config{Patterns: []string{"net/http", "database/sql", "encoding/gob", "html/template", "go/types"}, Env: append(os.Environ(), "CGO_ENABLED=0")}
	roots, ok := c.goList(t.Context())
	if !ok {
		t.Fatal("not listed")
	}
	saved := 0
	var data [2]map[string]string
	for i, edit := range []func([]byte) []byte{bytes.Clone, func(src []byte) []byte {
		out := withoutBodies(src)
		saved += len(bytes.Fields(src)) - len(bytes.Fields(out))
		return out
	}} {
		fset := token.NewFileSet()
		checked, exports := map[*packages.Package]*packages.Package{}, map[string]string{}
		packages.Visit(roots, nil, func(p *packages.Package) {
			q := &packages.Package{Name: p.Name, Types: types.Unsafe}
			if checked[p] = q; p.PkgPath == "unsafe" {
				return
			}
			var files []*ast.File
			for _, name := range p.GoFiles {
				src, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				file, err := parser.ParseFile(fset, name, edit(src), parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
			deps := imports{}
			for path, dep := range p.Imports {
				deps[path] = checked[dep]
			}
			config := types.Config{Importer: deps, IgnoreFuncBodies: true, FakeImportC: true, Sizes: types.SizesFor("gc", "amd64")}
			var err error
			if q.Types, err = config.Check(p.PkgPath, fset, files, nil); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := gcexportdata.Write(&out, fset, q.Types); err != nil {
				t.Fatal(err)
			}
			exports[p.PkgPath] = out.String()
		})
		data[i] = exports
	}
	for path, want := range data[0] {
		if data[1][path] != want {
			t.Errorf("the types of %s differ", path)
		}
	}
	if len(data[0]) < 100 || saved < 500_000 {
		t.Errorf("%d packages, %d words fewer", len(data[0]), saved)
	}
}

func FuzzBodies(f *testing.F) {
	f.Add("func f() struct{ x int } { return `}` }\n// c\nfunc g()\n")
	f.Add("func f() {\n\tx := '{' /* } */\n}")
	f.Fuzz(func(t *testing.T, src string) {
		out := withoutBodies([]byte(src))
		if len(out) != len(src) || strings.Count(string(out), "\n") != strings.Count(src, "\n") {
			t.Fatalf("%q became %q", src, out)
		}
		fset := token.NewFileSet()
		if _, err := parser.ParseFile(fset, "a.go", "package a\n"+src, parser.SkipObjectResolution); err != nil {
			return
		}
		if _, err := parser.ParseFile(fset, "a.go", "package a\n"+string(out), parser.SkipObjectResolution); err != nil {
			t.Fatalf("%q became %q: %v", src, out, err)
		}
	})
}
