package gate

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

var (
	fset   = token.NewFileSet()
	stdlib = importer.ForCompiler(fset, "gc", nil)
)

// modules gives packages checked before, and the standard library.
type modules map[string]*types.Package

func (m modules) Import(path string) (*types.Package, error) {
	if p := m[path]; p != nil {
		return p, nil
	}
	return stdlib.Import(path)
}

// source is a package that was checked.
type source struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

func (m modules) check(t *testing.T, path, text string) source {
	t.Helper()
	f, err := parser.ParseFile(fset, path+"/p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	pkg, err := (&types.Config{Importer: m}).Check(path, fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	m[path] = pkg
	return source{pkg, []*ast.File{f}, info}
}

func nothingKnown(types.Object) bool { return false }

func reasonOf(t *testing.T, path, text string) Reason {
	t.Helper()
	s := modules{}.check(t, path, text)
	return Of(s.pkg, s.files, s.info, nothingKnown)
}

// sends is a package whose function sends the literal given.
func sends(literal string) string {
	return `package p

import (
	"database/sql"
	"fmt"
	"strings"
)

var _, _ = fmt.Sprint, strings.Join

func f(db *sql.DB) error {
	_, err := db.Exec(` + literal + `)
	return err
}
`
}

func TestLockTextOpensThePackage(t *testing.T) {
	for name, c := range map[string]struct {
		literal string
		want    Reason
	}{
		"session lock":         {`"SELECT pg_advisory_lock(7)"`, Locks},
		"upper case":           {`"SELECT PG_ADVISORY_LOCK(7)"`, Locks},
		"transaction lock":     {`"SELECT pg_advisory_xact_lock_shared($1)", 7`, Locks},
		"raw string":           {"`\nSELECT\n\tpg_try_advisory_lock(7)`", Locks},
		"named lock":           {`"SELECT GET_LOCK('jobs', 5)"`, Locks},
		"release":              {`"DO RELEASE_LOCK('jobs')"`, Locks},
		"release of all":       {`"DO RELEASE_ALL_LOCKS()"`, Locks},
		"view":                 {`"SELECT objid FROM pg_locks"`, Locks},
		"local setting":        {`"SET LOCAL lock_timeout = '3s'"`, Locks},
		"setting by function":  {`"SELECT set_config('lock_timeout', '3s', true)"`, Locks},
		"part of a function":   {`"SELECT pg_advisory_" + "unlock(7)"`, Locks},
		"local, after a tab":   {`"SET\\tLOCAL lock_timeout = '3s'"`, Locks},
		"local, put together":  {`"SET LOCAL " + strings.ToLower("X") + " = 1"`, Locks},
		"name put together":    {`fmt.Sprintf("SELECT pg_%sadvisory_%slock(7)", "try_", "xact_")`, Locks},
		"a word of a name":     {`strings.Join([]string{"SELECT pg", "advisory", "lock(7)"}, "_")`, Locks},
		"other time limit":     {`"SET statement_timeout = '3s'"`, Closed},
		"a type's name":        {`"Radvisory_t.Count"`, Closed},
		"a field's name":       {`"ADVISORY_ID"`, Closed},
		"a message":            {`"failed to set local address"`, Closed},
		"many words":           {"`" + strings.Repeat("reset busy_timeout\n", 2000) + "local time set\n" + strings.Repeat("ENABLE_LOCAL lock_timeout ", 2000) + "`", Closed},
		"row lock":             {`"SELECT id FROM job FOR UPDATE SKIP LOCKED"`, Closed},
		"table lock":           {`"LOCK TABLE job IN SHARE MODE"`, Closed},
		"a column named so":    {`"SELECT locked_at FROM job"`, Closed},
		"words of other kinds": {`"this is a piece of advice, get the lock"`, Closed},
	} {
		if got := reasonOf(t, "example.com/p", sends(c.literal)); got != c.want {
			t.Errorf("%s: %s is %s, want %s", name, c.literal, got, c.want)
		}
	}
}

// A comment or a name is no text that is sent.
func TestOnlyLiteralsCount(t *testing.T) {
	got := reasonOf(t, "example.com/p", `package p

// pg_advisory_lock is taken elsewhere.
func pg_advisory_lock() int { return len("nothing of interest") }
`)
	if got != Closed {
		t.Errorf("a comment and a name open the package: %s", got)
	}
}

func TestEmbeddedSQLOpensThePackage(t *testing.T) {
	text := func(pattern string) string {
		return "package p\n\nimport _ \"embed\"\n\n//go:embed " + pattern + "\nvar text string\n"
	}
	for pattern, want := range map[string]Reason{
		"queries/take.sql": Locks,
		"sql/*":            Locks,
		"index.html":       Closed,
	} {
		if got := reasonOf(t, "example.com/p", text(pattern)); got != want {
			t.Errorf("embedding %s is %s, want %s", pattern, got, want)
		}
	}
}

func TestForwardedTextOpensThePackage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Reason
	}{
		"query given by the caller": {`
			type Store struct{ db *sql.DB }
			func (s Store) Run(ctx context.Context, query string, args ...any) error {
				_, err := s.db.ExecContext(ctx, query, args...)
				return err
			}`, Wrappers},
		"query put together from it": {`
			func Count(db *sql.DB, table string) (n int, err error) {
				err = db.QueryRow("SELECT count(*) FROM " + table).Scan(&n)
				return
			}`, Wrappers},
		"through an interface of its own": {`
			type Runner interface { ExecContext(context.Context, string, ...any) (sql.Result, error) }
			func Run(ctx context.Context, r Runner, query string) error {
				_, err := r.ExecContext(ctx, query)
				return err
			}`, Wrappers},
		"a constant query with a string operand": {`
			func Rename(ctx context.Context, db *sql.DB, to string) error {
				_, err := db.ExecContext(ctx, "UPDATE team SET name = $1", to)
				return err
			}`, Closed},
		"a query of its own": {`
			var query = "SELECT 1"
			func Ping(db *sql.DB) error { _, err := db.Exec(query); return err }`, Closed},
	} {
		text := "package p\n\nimport (\"context\"; \"database/sql\")\n\nvar _ context.Context\nvar _ *sql.DB\n" + c.text
		if got := reasonOf(t, "example.com/p", text); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestContextMakersOpenThePackage(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Reason
	}{
		"detached":       {`func Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }`, Wrappers},
		"begun anew":     {`func Fresh(ctx context.Context) (context.Context, error) { return context.Background(), ctx.Err() }`, Wrappers},
		"with a value":   {`func With(ctx context.Context) context.Context { return context.WithValue(ctx, 1, 2) }`, Closed},
		"given to none":  {`func Root() context.Context { return context.Background() }`, Closed},
		"used within":    {`func Use(ctx context.Context) error { return context.Background().Err() }`, Closed},
		"another's name": {`type T struct{}; func (T) Background() {}; func Use(ctx context.Context, t T) context.Context { t.Background(); return ctx }`, Closed},
	} {
		if got := reasonOf(t, "example.com/p", "package p\n\nimport \"context\"\n\n"+c.body); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCallersOfKnownFunctionsAreOpen(t *testing.T) {
	m := modules{}
	m.check(t, "example.com/guard", `package guard
func Take() {}
func Look() {}
type Gate struct{}
func (Gate) Pass() {}`)
	known := func(fn types.Object) bool { return fn.Name() == "Take" || fn.Name() == "Pass" }
	for name, c := range map[string]struct {
		body string
		want Reason
	}{
		"a function":          {`func f() { guard.Take() }`, Callers},
		"a method":            {`func f(g guard.Gate) { g.Pass() }`, Callers},
		"a function as value": {`var f = guard.Take`, Callers},
		"another function":    {`func f() { guard.Look() }`, Closed},
		"its own namesake":    {`func Take() { guard.Look() }; func f() { Take() }`, Closed},
	} {
		s := m.check(t, "example.com/p", "package p\n\nimport \"example.com/guard\"\n\n"+c.body)
		if got := Of(s.pkg, s.files, s.info, known); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What the engine knows by itself is not followed, even when its text speaks of locks.
func TestStandardLibraryIsClosed(t *testing.T) {
	for path, want := range map[string]Reason{
		"database/sql":        Closed,
		"net/http":            Closed,
		"internal/poll":       Closed,
		"vendor/golang.org/x": Closed,
		"cmd/go":              Closed,
		"example.com/sql":     Locks,
		"myprogram/store":     Locks, // a module without a domain
	} {
		if got := reasonOf(t, path, sends(`"SELECT pg_advisory_lock(7)"`)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// A client library forwards text, as its rows say; only one that locks by itself is followed.
func TestClientLibrariesAreClosedUnlessTheyLock(t *testing.T) {
	forwards := `package p

import "database/sql"

func Run(db *sql.DB, query string) error { _, err := db.Exec(query); return err }
`
	for _, path := range []string{"github.com/jackc/pgx/v5/stdlib", "gorm.io/gorm", "github.com/jmoiron/sqlx", "github.com/go-pg/pg/v10"} {
		if got := reasonOf(t, path, forwards); got != Closed {
			t.Errorf("%s is %s, want %s", path, got, Closed)
		}
		if got := reasonOf(t, path, sends(`"SELECT pg_advisory_lock(7)"`)); got != Locks {
			t.Errorf("%s with lock text is %s, want %s", path, got, Locks)
		}
	}
	if got := reasonOf(t, "example.com/p", forwards); got != Wrappers {
		t.Errorf("the same text in a program is %s, want %s", got, Wrappers)
	}
}

func TestReasonsHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for r := Closed; r <= Wrappers; r++ {
		if s := r.String(); strings.TrimSpace(s) == "" || seen[s] {
			t.Errorf("reason %d reads %q", r, s)
		} else {
			seen[s] = true
		}
	}
}
