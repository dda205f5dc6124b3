package stores

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

const path = "example.com/p"

var (
	fset   = token.NewFileSet()
	stdlib = importer.ForCompiler(fset, "gc", nil)
)

// libraries gives the client library that is written here, and the standard library.
type libraries struct{ gorm *types.Package }

func (l libraries) Import(path string) (*types.Package, error) {
	if path == "gorm.io/gorm" {
		return l.gorm, nil
	}
	return stdlib.Import(path)
}

func parse(t *testing.T, text string) []*ast.File {
	t.Helper()
	f, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return []*ast.File{f}
}

// index indexes a package with the declarations in body.
func index(t *testing.T, body string) *Index {
	t.Helper()
	gorm, err := (&types.Config{}).Check("gorm.io/gorm", fset, parse(t, library), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := parse(t, `package p

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

var _ context.Context
var _ *sql.DB
var _ *gorm.DB
`+body)
	pkg, _, err := ssautil.BuildPackage(&types.Config{Importer: libraries{gorm}}, fset, types.NewPackage(path, "p"), files, 0)
	if err != nil {
		t.Fatal(err)
	}
	var fns []*ssa.Function
	for fn := range ssautil.AllFunctions(pkg.Prog) {
		if fn.Pkg == pkg {
			fns = append(fns, fn)
		}
	}
	slices.SortFunc(fns, func(a, b *ssa.Function) int { return strings.Compare(a.String(), b.String()) })
	return New(pkg.Pkg, fns)
}

// field is a load of field name of the package's type typ.
func field(typ, name, of string) *term.Term {
	return term.New(term.Load, "", "", of, term.New(term.FieldPtr, name, "", path+"."+typ, term.New(term.Param, "0", "", "")))
}

func global(name string) *term.Term {
	return term.New(term.Load, "", "", "", term.New(term.Global, path+"."+name, "", ""))
}

// show names values by what they are, in order of their names.
func show(vals []*term.Term) string {
	var out []string
	for _, v := range vals {
		s := "other"
		if k, ok := symexec.MadeKind(v); ok {
			s = k.String()
		} else if text, ok := v.StrVal(); ok {
			s = text
		} else if n, ok := v.IntVal(); ok {
			s = n
		} else if v.Op == term.Opaque {
			s = v.Site
		} else if v.Op == term.Stmt {
			s = "statement"
		} else if v.Op == term.Call {
			s = v.Str
		} else if v.IsNil() {
			s = "nil"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func TestStoresOfAField(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"in a literal": {`
			type T struct{ f *sql.DB }
			func New() (*T, error) { db, err := sql.Open("pgx", ""); return &T{f: db}, err }`,
			"pool"},
		"by assignment": {`
			type T struct{ f *sql.Conn }
			func (t *T) pin(ctx context.Context, db *sql.DB) (err error) { t.f, err = db.Conn(ctx); return }`,
			"pinned connection"},
		"of a parameter nobody in view gives": {`
			type T struct{ f *sql.DB }
			func New(db *sql.DB) *T { return &T{f: db} }`,
			"param:example.com/p.New.db"},
		"of a parameter that callers in view give": {`
			type T struct{ f string }
			func build(s string) *T { return &T{f: s} }
			func A() *T { return build("a") }`,
			"a"},
		"several": {`
			type T struct{ f string }
			func A() *T { return &T{f: "a"} }
			func B(t *T) { t.f = "b" }`,
			"a; b"},
		"the same twice": {`
			type T struct{ f string }
			func A() *T { return &T{f: "a"} }
			func B(t *T) { t.f = "a" }`,
			"a"},
		"by a helper's result": {`
			type T struct{ f *sql.Tx }
			func open(db *sql.DB) (*sql.Tx, error) {
				tx, err := db.Begin()
				if err != nil { return nil, err }
				return tx, nil
			}
			func New(db *sql.DB) (*T, error) { tx, err := open(db); return &T{f: tx}, err }`,
			"transaction"},
		"in a closure": {`
			type T struct{ f string }
			func New() func() *T { s := "late"; return func() *T { return &T{f: s} } }`,
			"late"},
		"a statement": {`
			type T struct{ f *sql.Stmt }
			func New(db *sql.DB) (*T, error) { st, err := db.Prepare("SELECT 1"); return &T{f: st}, err }`,
			"statement"},
		"a context of the package context": {`
			type T struct{ f context.Context }
			func New() *T { return &T{f: context.Background()} }`,
			"context.Background"},
		"through another field": {`
			type U struct{ db *sql.DB }
			type T struct{ f *sql.DB }
			func New(u *U) *T { return &T{f: u.db} }`,
			"other"},
		"of a number": {`
			type T struct{ f int64 }
			func New() *T { return &T{f: 42} }`,
			"42"},
	} {
		vals, ok := index(t, c.body).Stores(field("T", "f", ""))
		if got := show(vals); !ok || got != c.want {
			t.Errorf("%s: %q, known %t, want %q", name, got, ok, c.want)
		}
	}
}

func TestStoresThatAreNotAllInView(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		of   *term.Term
	}{
		"nothing stored": {`type T struct{ f *sql.DB }`, field("T", "f", "")},
		"an exported field": {`
			type T struct{ F string }
			func New() *T { return &T{F: "a"} }`, field("T", "F", "")},
		"an exported variable": {`var Text = "a"`, global("Text")},
		"another type's field": {`
			type T struct{ f string }
			func New() *T { return &T{f: "a"} }`, field("U", "f", "")},
		"more than a phi holds": {`
			type T struct{ f string }
			func New(t *T) {
				t.f = "1"; t.f = "2"; t.f = "3"; t.f = "4"; t.f = "5"
				t.f = "6"; t.f = "7"; t.f = "8"; t.f = "9"
			}`, field("T", "f", "")},
		"no load at all": {`var text = "a"`, term.Str("a")},
	} {
		if vals, ok := index(t, c.body).Stores(c.of); ok {
			t.Errorf("%s: known to be %s", name, show(vals))
		}
	}
}

// A field that is given its own value, directly or around a corner, ends the trace.
func TestStoresOfFieldsThatLeadToThemselves(t *testing.T) {
	ix := index(t, `
		type T struct{ f, g string; next *T }
		func (t *T) swap() { t.f, t.g = t.g, t.f }
		func (t *T) push() *T { return &T{f: t.f, next: t} }
		func chain(s string, n int) string { if n == 0 { return s }; return chain(s+"x", n-1) }
		func (t *T) grow() { t.g = chain(t.g, 9) }`)
	for _, f := range []string{"f", "g", "next"} {
		if vals, ok := ix.Stores(field("T", f, "")); !ok || len(vals) == 0 {
			t.Errorf("field %s: %d values, known %t", f, len(vals), ok)
		}
	}
}

func TestStoresOfAVariable(t *testing.T) {
	ix := index(t, `
		var query = "SELECT 1"
		var db *sql.DB
		func open() (err error) { db, err = sql.Open("pgx", ""); return }`)
	for name, want := range map[string]string{"query": "SELECT 1", "db": "pool"} {
		if vals, ok := ix.Stores(global(name)); !ok || show(vals) != want {
			t.Errorf("%s: %q, known %t, want %q", name, show(vals), ok, want)
		}
	}
}

func TestCapped(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want bool
	}{
		"where it is made": {`
			func New() *T { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(1); return &T{f: db} }`, true},
		"after it is kept": {`
			func New() *T { t := &T{}; t.f, _ = sql.Open("pgx", ""); t.f.SetMaxOpenConns(1); return t }`, true},
		"in a method": {`
			func New(db *sql.DB) *T { return &T{f: db} }
			func (t *T) limit() { t.f.SetMaxOpenConns(1) }`, true},
		"in a helper that makes it": {`
			func open() *sql.DB { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(1); return db }
			func New() *T { return &T{f: open()} }`, true},
		"the parameter that is kept": {`
			func New(db *sql.DB) *T { db.SetMaxOpenConns(1); return &T{f: db} }`, true},
		"at more than one": {`
			func New() *T { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(2); return &T{f: db} }`, false},
		"at what is not known": {`
			func New(n int) *T { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(n); return &T{f: db} }`, false},
		"another limit": {`
			func New() *T { db, _ := sql.Open("pgx", ""); db.SetMaxIdleConns(1); return &T{f: db} }`, false},
		"another pool": {`
			func New() *T {
				db, _ := sql.Open("pgx", ""); other, _ := sql.Open("pgx", "")
				other.SetMaxOpenConns(1)
				return &T{f: db}
			}`, false},
	} {
		ix := index(t, "type T struct{ f *sql.DB }\n"+c.body)
		if got := ix.Capped(field("T", "f", "database/sql.DB")); got != c.want {
			t.Errorf("%s: capped %t, want %t", name, got, c.want)
		}
	}
}

func TestCappedVariable(t *testing.T) {
	ix := index(t, `
		var one, many *sql.DB
		func open() { one, _ = sql.Open("pgx", ""); many, _ = sql.Open("pgx", ""); one.SetMaxOpenConns(1) }`)
	if !ix.Capped(global("one")) || ix.Capped(global("many")) {
		t.Errorf("one is capped %t, many %t", ix.Capped(global("one")), ix.Capped(global("many")))
	}
	if ix.Capped(term.New(term.Param, "0", "", "database/sql.DB")) {
		t.Error("a parameter is capped")
	}
}

// library is a client library with callbacks, as far as its rows need it.
const library = `package gorm
type DB struct{}
func (db *DB) Transaction(fc func(tx *DB) error, opts ...any) error { return nil }
func (db *DB) Connection(fc func(tx *DB) error) error { return nil }
`

func TestHandleOfACallback(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"that catches nothing": {`
			var kept *gorm.DB
			func run(db *gorm.DB) error { return db.Transaction(func(tx *gorm.DB) error { kept = tx; return nil }) }`,
			"transaction"},
		"that catches a variable": {`
			func run(db *gorm.DB) (kept *gorm.DB, err error) {
				t := &T{}
				err = db.Connection(func(conn *gorm.DB) error { t.f = conn; return nil })
				return t.f, err
			}`,
			"pinned connection"},
		"of a function that is no client's": {`
			func each(f func(*gorm.DB) error) error { return f(nil) }
			func run(t *T) error { return each(func(tx *gorm.DB) error { t.f = tx; return nil }) }`,
			"param:example.com/p.run$1.tx"},
	} {
		ix := index(t, "type T struct{ f *gorm.DB }\n"+c.body)
		vals, ok := ix.Stores(field("T", "f", ""))
		if !ok {
			vals, ok = ix.Stores(global("kept"))
		}
		if got := show(vals); !ok || got != c.want {
			t.Errorf("a function literal %s: %q, known %t, want %q", name, got, ok, c.want)
		}
	}
}

// Which of several uses says what a function literal is given does not depend on a map's order.
func TestTracesAreTheSameEachTime(t *testing.T) {
	const body = `
		type T struct{ f *gorm.DB }
		func run(db *gorm.DB, t *T) error {
			kept := &T{}
			work := func(h *gorm.DB) error { kept.f = h; return nil }
			if err := db.Transaction(work); err != nil {
				return err
			}
			return db.Connection(work)
		}`
	want := ""
	for range 8 {
		vals, _ := index(t, body).Stores(field("T", "f", ""))
		if want == "" {
			want = show(vals)
		}
		if got := show(vals); got != want {
			t.Fatalf("%q, and before %q", got, want)
		}
	}
}
