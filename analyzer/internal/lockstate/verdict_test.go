package lockstate_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

var (
	fset   = token.NewFileSet()
	stdlib = importer.ForCompiler(fset, "gc", nil)
)

// events are those of a package with the declarations in body.
func events(t *testing.T, body string) []*lockflow.Event {
	t.Helper()
	f, err := parser.ParseFile(fset, "p.go", "package p\n\nimport (\n\"context\"\n\"database/sql\"\n\"database/sql/driver\"\n\"os\"\n\"time\"\n)\n\n"+
		"var (\n_ context.Context\n_ *sql.DB\n_ driver.Conn\n_ *os.File\n_ time.Time\n)\n\n"+body, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{}}
	pkg, err := (&types.Config{Importer: stdlib}).Check("example.com/p", fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	res, err := lockflow.Analyzer.Run(&analysis.Pass{Analyzer: lockflow.Analyzer, Fset: fset, Files: []*ast.File{f}, Pkg: pkg, TypesInfo: info,
		TypesSizes: types.SizesFor("gc", "amd64"), Report: func(analysis.Diagnostic) {}, ReadFile: os.ReadFile,
		ImportObjectFact: func(types.Object, analysis.Fact) bool { return false }, ExportObjectFact: func(types.Object, analysis.Fact) {}})
	if err != nil {
		t.Fatal(err)
	}
	return res.(*lockflow.Result).Events
}

// what names an event: a lock function, a setting, or "use".
func what(e *lockflow.Event) string {
	switch {
	case e.Lock != nil:
		return e.Lock.Func.Name
	case e.Setting != nil:
		return e.Setting.Name
	case e.Use:
		return "use"
	}
	return ""
}

// row is a program, and whether it makes a verdict true of any event of the name given.
type row struct {
	name, body string
	want       bool
}

func check(t *testing.T, v lockflow.Verdict, of string, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			found, got := 0, false
			for _, e := range events(t, r.body) {
				if what(e) == of {
					found++
					got = got || e.Has(v)
				}
			}
			if found == 0 {
				t.Fatalf("no event of %s", of)
			}
			if got != r.want {
				t.Errorf("%s: %t, want %t", of, got, r.want)
			}
		})
	}
}

const (
	lock   = `conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", id)`
	unlock = `conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", id)`
)

// onConn is a function that does something on a connection from a pool.
func onConn(do string) string {
	return `func f(ctx context.Context, db *sql.DB, id int64) error {
	conn, err := db.Conn(ctx)
	if err != nil { return err }
	` + do + `
	return nil
}`
}

func TestLeaked(t *testing.T) {
	check(t, lockflow.Leaked, "pg_advisory_lock", []row{
		{"closed with the lock on", onConn(lock + `; conn.Close()`), true},
		{"closed by a defer", onConn(`defer conn.Close(); ` + lock), true},
		{"freed first", onConn(`defer conn.Close(); ` + lock + `; ` + unlock), false},
		{"freed by a defer", onConn(`defer conn.Close(); ` + lock + `; defer ` + unlock), false},
		{"freed on one way out only", onConn(`defer conn.Close(); ` + lock + `; if id > 3 { return nil }; ` + unlock), true},
		{"freed after an error of the acquire too", onConn(`defer conn.Close(); if _, err := ` + lock + `; err != nil { return err }; ` + unlock), false},
		{"all freed", onConn(lock + `; conn.ExecContext(ctx, "SELECT pg_advisory_unlock_all()"); conn.Close()`), false},
		{"the connection thrown away", onConn(lock + `; conn.Raw(func(any) error { return driver.ErrBadConn })`), false},
		{"the pool closed", onConn(lock + `; db.Close()`), false},
		{"the process ends", onConn(lock + `; os.Exit(0)`), false},
		{"forgotten with its connection", onConn(lock), true},
		{"handed on with its connection", `func f(ctx context.Context, db *sql.DB, id int64) (*sql.Conn, error) {
			conn, err := db.Conn(ctx)
			if err != nil { return nil, err }
			_, err = ` + lock + `
			return conn, err
		}`, false},
		{"kept with its connection", `type T struct{ conn *sql.Conn }
		func (t *T) f(ctx context.Context, db *sql.DB, id int64) error {
			conn, err := db.Conn(ctx)
			if err != nil { return err }
			_, err = ` + lock + `
			t.conn = conn
			return err
		}`, false},
		{"on a connection that is the caller's", `func f(ctx context.Context, conn *sql.Conn, id int64) { ` + lock + ` }`, false},
		{"freed by a function that is given back", `func f(ctx context.Context, db *sql.DB, id int64) (func(), error) {
			conn, err := db.Conn(ctx)
			if err != nil { return nil, err }
			if _, err := ` + lock + `; err != nil { conn.Close(); return nil, err }
			return func() { ` + unlock + `; conn.Close() }, nil
		}`, false},
	})
	check(t, lockflow.Leaked, "pg_advisory_xact_lock", []row{
		{"a transaction's lock ends with it", `func f(db *sql.DB) { tx, _ := db.Begin(); tx.Exec("SELECT pg_advisory_xact_lock(1)"); tx.Commit() }`, false},
	})
	check(t, lockflow.Leaked, "pg_try_advisory_lock", []row{
		{"refused", onConn(`var ok bool
			if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&ok); err != nil || !ok { conn.Close(); return err }
			` + unlock + `; conn.Close()`), false},
		{"the answer taken for a yes", onConn(`var ok bool
			conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&ok)
			if ok { conn.Close(); return nil }
			` + unlock + `; conn.Close()`), true},
	})
}

func TestAfterClose(t *testing.T) {
	check(t, lockflow.AfterClose, "pg_advisory_unlock", []row{
		{"after Close", onConn(lock + `; conn.Close(); ` + unlock), true},
		{"by a defer that runs after Close", onConn(`defer ` + unlock + `; defer conn.Close(); ` + lock), true},
		{"before Close", onConn(lock + `; ` + unlock + `; conn.Close()`), false},
		{"by a defer that runs before Close", onConn(`defer conn.Close(); defer ` + unlock + `; ` + lock), false},
		{"after the commit of a transaction on a pool", `func f(db *sql.DB) {
			tx, _ := db.Begin(); tx.Exec("SELECT pg_advisory_lock(1)"); tx.Commit(); tx.Exec("SELECT pg_advisory_unlock(1)") }`, true},
		{"after the commit of a transaction on a connection", onConn(`tx, _ := conn.BeginTx(ctx, nil); ` + lock + `; tx.Commit(); ` + unlock + `; conn.Close()`), false},
		{"on another connection", onConn(`other, _ := db.Conn(ctx); other.Close(); ` + lock + `; ` + unlock + `; conn.Close()`), false},
	})
}

func TestNotHeld(t *testing.T) {
	try := `var ok bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&ok); err != nil { return err }
		`
	check(t, lockflow.NotHeld, "pg_advisory_unlock", []row{
		{"freed whatever the answer", onConn(try + `if ok { println("work") }; ` + unlock), true},
		{"a defer that runs after a refusal", onConn(try + `defer ` + unlock + `; if !ok { return nil }; println("work")`), true},
		{"freed after a yes", onConn(try + `if ok { ` + unlock + ` }`), false},
		{"freed after the refusal was turned away", onConn(try + `if !ok { return nil }; ` + unlock), false},
		{"a lock that always waits", onConn(lock + `; ` + unlock), false},
		{"another lock", onConn(`conn.ExecContext(ctx, "SELECT pg_advisory_lock(77)"); ` + try + `if ok { return nil };
			conn.ExecContext(ctx, "SELECT pg_advisory_unlock(77)")`), false},
	})
	check(t, lockflow.NotHeld, "release_lock", []row{
		{"0 taken for a lock", onConn(`var n int
			conn.QueryRowContext(ctx, "SELECT GET_LOCK('a', 1)").Scan(&n)
			if n == 1 { println("work") }
			conn.ExecContext(ctx, "SELECT RELEASE_LOCK('a')")`), true},
		{"1 asked for", onConn(`var n int
			conn.QueryRowContext(ctx, "SELECT GET_LOCK('a', 1)").Scan(&n)
			if n != 1 { return nil }
			conn.ExecContext(ctx, "SELECT RELEASE_LOCK('a')")`), false},
	})
}

func TestMismatched(t *testing.T) {
	pair := func(take, free string) string {
		return onConn(`conn.ExecContext(ctx, "SELECT ` + take + `", id); conn.ExecContext(ctx, "SELECT ` + free + `", id); conn.Close()`)
	}
	check(t, lockflow.Mismatched, "pg_advisory_unlock", []row{
		{"the same key", pair("pg_advisory_lock($1)", "pg_advisory_unlock($1)"), false},
		{"a shared lock", pair("pg_advisory_lock_shared($1)", "pg_advisory_unlock($1)"), true},
		{"another constant", pair("pg_advisory_lock(4)", "pg_advisory_unlock(5)"), true},
		{"the same constant", pair("pg_advisory_lock(4)", "pg_advisory_unlock(4)"), false},
		{"two keys for one", pair("pg_advisory_lock($1)", "pg_advisory_unlock($1, 0)"), true},
		{"the same key hashed", pair("pg_advisory_lock(hashtext($1))", "pg_advisory_unlock(hashtext($1))"), false},
		{"another parameter", `func f(ctx context.Context, conn *sql.Conn, a, b int64) {
			conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", a); conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", b) }`, true},
		{"a key that is not known", `var next func() int64
		func f(ctx context.Context, conn *sql.Conn, a int64) {
			conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", a); conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", next()) }`, false},
		{"two locks", onConn(`conn.ExecContext(ctx, "SELECT pg_advisory_lock(1)"); conn.ExecContext(ctx, "SELECT pg_advisory_lock(2)")
			conn.ExecContext(ctx, "SELECT pg_advisory_unlock(2)"); conn.ExecContext(ctx, "SELECT pg_advisory_unlock(1)"); conn.Close()`), false},
		{"no lock in view", `func f(ctx context.Context, conn *sql.Conn, id int64) { ` + unlock + ` }`, false},
		{"a transaction's lock", `func f(db *sql.DB) { tx, _ := db.Begin(); tx.Exec("SELECT pg_advisory_xact_lock(1)")
			tx.Exec("SELECT pg_advisory_unlock(1)"); tx.Commit() }`, true},
	})
	check(t, lockflow.Mismatched, "release_lock", []row{
		{"names in another case are one", pair("GET_LOCK('Job', 5)", "RELEASE_LOCK('job')"), false},
		{"another name", pair("GET_LOCK('a', 5)", "RELEASE_LOCK('b')"), true},
	})
}

func TestOutsideTx(t *testing.T) {
	xact := `SELECT pg_advisory_xact_lock(1)`
	check(t, lockflow.OutsideTx, "pg_advisory_xact_lock", []row{
		{"on a pool", `func f(db *sql.DB) { db.Exec("` + xact + `") }`, true},
		{"in a transaction", `func f(db *sql.DB) { tx, _ := db.Begin(); tx.Exec("` + xact + `"); tx.Commit() }`, false},
		{"in a transaction that is the caller's", `func f(tx *sql.Tx) { tx.Exec("` + xact + `") }`, false},
		{"on a connection taken here", onConn(`conn.ExecContext(ctx, "` + xact + `"); conn.Close()`), true},
		{"on a connection that is the caller's", `func f(ctx context.Context, conn *sql.Conn) { conn.ExecContext(ctx, "` + xact + `") }`, false},
		{"after BEGIN", onConn(`conn.ExecContext(ctx, "BEGIN"); conn.ExecContext(ctx, "` + xact + `"); conn.ExecContext(ctx, "COMMIT"); conn.Close()`), false},
		{"after COMMIT", onConn(`conn.ExecContext(ctx, "BEGIN"); conn.ExecContext(ctx, "COMMIT"); conn.ExecContext(ctx, "` + xact + `"); conn.Close()`), true},
		{"in a script with BEGIN", `func f(db *sql.DB) { db.Exec("BEGIN; ` + xact + `; COMMIT") }`, false},
		{"in a script, which is one transaction", `func f(db *sql.DB) { db.Exec("` + xact + `; UPDATE t SET a = 1") }`, false},
		{"in a DO block, which is one too", `func f(db *sql.DB) { db.Exec("DO $$ BEGIN PERFORM pg_advisory_xact_lock(1); UPDATE t SET a = 1; END $$") }`, false},
		{"on a handle of unknown kind", `type runner interface{ ExecContext(context.Context, string, ...any) (sql.Result, error) }
		func f(ctx context.Context, r runner) { r.ExecContext(ctx, "` + xact + `") }`, false},
	})
	check(t, lockflow.OutsideTx, "lock_timeout", []row{
		{"a local setting on a pool", `func f(db *sql.DB) { db.Exec("SET LOCAL lock_timeout = '1s'") }`, true},
		{"a local setting in a transaction", `func f(tx *sql.Tx) { tx.Exec("SET LOCAL lock_timeout = '1s'") }`, false},
		{"a local setting by function", `func f(db *sql.DB) { db.Exec("SELECT set_config('lock_timeout', '1s', true)") }`, true},
	})
}

func TestUnbounded(t *testing.T) {
	check(t, lockflow.Unbounded, "pg_advisory_lock", []row{
		{"without a context", `func f(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(1)") }`, true},
		{"with a context that nobody ends", `func f(conn *sql.Conn) { conn.ExecContext(context.Background(), "SELECT pg_advisory_lock(1)") }`, true},
		{"with the caller's context", onConn(lock), false},
		{"with a deadline", `func f(db *sql.DB) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second); defer cancel()
			db.ExecContext(ctx, "SELECT pg_advisory_lock(1)") }`, false},
		{"with a context that can only be cancelled", `func f(db *sql.DB) {
			ctx, cancel := context.WithCancel(context.Background()); defer cancel()
			db.ExecContext(ctx, "SELECT pg_advisory_lock(1)") }`, true},
		{"after a lock_timeout", `func f(ctx context.Context, db *sql.DB) {
			tx, _ := db.Begin(); tx.Exec("SET LOCAL lock_timeout = '2s'"); tx.Exec("SELECT pg_advisory_lock(1)"); tx.Commit() }`, false},
		{"after a lock_timeout of 0", `func f(ctx context.Context, db *sql.DB) {
			tx, _ := db.Begin(); tx.Exec("SET LOCAL lock_timeout = 0"); tx.Exec("SELECT pg_advisory_lock(1)"); tx.Commit() }`, true},
		{"with a lock_timeout in the text", `func f(db *sql.DB) { db.Exec("SET lock_timeout = '2s'; SELECT pg_advisory_lock(1)") }`, false},
		{"after a lock_timeout on some connection of the pool", `func f(db *sql.DB) {
			db.Exec("SET lock_timeout = '2s'"); db.Exec("SELECT pg_advisory_lock(1)") }`, true},
	})
	check(t, lockflow.Unbounded, "pg_try_advisory_lock", []row{
		{"what does not wait", `func f(db *sql.DB) { db.Exec("SELECT pg_try_advisory_lock(1)") }`, false},
	})
	check(t, lockflow.Unbounded, "get_lock", []row{
		{"a negative timeout", `func f(db *sql.DB) { db.Exec("SELECT GET_LOCK('a', -1)") }`, true},
		{"a timeout", `func f(db *sql.DB) { db.Exec("SELECT GET_LOCK('a', 10)") }`, false},
		{"a timeout given by the caller", `func f(db *sql.DB, n int) { db.Exec("SELECT GET_LOCK('a', ?)", n) }`, false},
	})
}

func TestInSnapshot(t *testing.T) {
	in := func(begin string) string {
		return `func f(ctx context.Context, db *sql.DB) { ` + begin + `; tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(1)"); tx.Commit() }`
	}
	check(t, lockflow.InSnapshot, "pg_advisory_xact_lock", []row{
		{"serializable", in(`tx, _ := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})`), true},
		{"repeatable read", in(`tx, _ := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})`), true},
		{"read committed", in(`tx, _ := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})`), false},
		{"the default", in(`tx, _ := db.BeginTx(ctx, nil)`), false},
		{"by a statement", in(`tx, _ := db.Begin(); tx.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")`), true},
		{"in a transaction of another function", `func f(tx *sql.Tx) { tx.Exec("SELECT pg_advisory_xact_lock(1)") }`, false},
	})
}

func TestStarves(t *testing.T) {
	check(t, lockflow.Starves, "use", []row{
		{"the pool while a lock is held", onConn(lock + `; db.ExecContext(ctx, "UPDATE t SET a = 1"); ` + unlock + `; conn.Close()`), true},
		{"a second connection while a lock is held", onConn(lock + `; other, _ := db.Conn(ctx); other.Close(); ` + unlock + `; conn.Close()`), true},
		{"a transaction of the pool while a lock is held", onConn(lock + `; tx, _ := db.Begin(); tx.Commit(); ` + unlock + `; conn.Close()`), true},
	})
	for name, do := range map[string]string{
		"after the release":       lock + `; ` + unlock + `; db.ExecContext(ctx, "UPDATE t SET a = 1"); conn.Close()`,
		"before the acquire":      `db.ExecContext(ctx, "UPDATE t SET a = 1"); ` + lock + `; ` + unlock + `; conn.Close()`,
		"on the same connection":  lock + `; conn.ExecContext(ctx, "UPDATE t SET a = 1"); ` + unlock + `; conn.Close()`,
		"on another pool":         lock + `; other, _ := sql.Open("pgx", ""); other.ExecContext(ctx, "UPDATE t SET a = 1"); ` + unlock + `; conn.Close()`,
		"in a tx of a connection": lock + `; tx, _ := conn.BeginTx(ctx, nil); tx.Commit(); ` + unlock + `; conn.Close()`,
	} {
		for _, e := range events(t, onConn(do)) {
			if e.Use || e.Has(lockflow.Starves) {
				t.Errorf("%s: a use of the pool is noted", name)
			}
		}
	}
}

func TestSessionEnds(t *testing.T) {
	check(t, lockflow.SessionEnds, "pg_advisory_unlock", []row{
		{"the connection goes back", onConn(lock + `; ` + unlock + `; conn.Close()`), false},
		{"the connection is thrown away", onConn(lock + `; ` + unlock + `; conn.Raw(func(any) error { return driver.ErrBadConn })`), true},
		{"the process ends", onConn(lock + `; ` + unlock + `; os.Exit(0)`), true},
		{"the process ends on one path", onConn(lock + `; ` + unlock + `; if id > 3 { os.Exit(0) }; conn.Close()`), false},
		{"the connection is thrown away before", onConn(lock + `; ` + unlock + `; other, _ := db.Conn(ctx); other.Raw(func(any) error { return driver.ErrBadConn }); conn.Close()`), false},
	})
}
