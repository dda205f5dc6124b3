package symexec

import (
	"slices"
	"strings"
	"testing"
)

// row is a function f and the paths through it, each as the effects in order; a path that ends the
// process has a ! at its end.
type row struct {
	name string
	body string
	want []string
}

func checkRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			run := follow(t, r.body)
			got, want := paths(run), slices.Clone(r.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("paths are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
			if run.Truncated {
				t.Error("the run is truncated")
			}
		})
	}
}

func TestBranches(t *testing.T) {
	checkRows(t, []row{
		{"paths that do the same are one", `
			func f(db *sql.DB, n int) {
				if n > 3 { n = 3 } else { n = 4 }
				db.Exec("a")
			}`, []string{"send:a"}},
		{"paths that do different things are two", `
			func f(db *sql.DB, n int) {
				if n > 3 { db.Exec("a") } else { db.Exec("b") }
				db.Exec("c")
			}`, []string{"send:a send:c", "send:b send:c"}},
		{"an error ends the path", `
			func f(db *sql.DB) error {
				if _, err := db.Exec("a"); err != nil { return err }
				_, err := db.Exec("b")
				return err
			}`, []string{"send:a", "send:a send:b"}},
		{"a condition met again has the same outcome", `
			func f(db *sql.DB, on bool) {
				if on { db.Exec("a") }
				if on { db.Exec("b") }
				if !on { db.Exec("c") }
			}`, []string{"send:a send:b", "send:c"}},
		{"an error met again has the same outcome", `
			func f(db *sql.DB) {
				_, err := db.Exec("a")
				if err == nil { db.Exec("b") }
				if err != nil { db.Exec("c") }
			}`, []string{"send:a send:b", "send:a send:c"}},
		{"a constant condition has one outcome", `
			const verbose = false
			func f(db *sql.DB) { if verbose { db.Exec("a") }; db.Exec("b") }`, []string{"send:b"}},
		{"a boolean set on the way decides", `
			func f(db *sql.DB, n int) {
				done := false
				if n > 3 { db.Exec("a"); done = true }
				if !done { db.Exec("b") }
			}`, []string{"send:a", "send:b"}},
		{"a fresh error is not nil", `
			func f(db *sql.DB) { err := errors.New("x"); if err != nil { db.Exec("a"); return }; db.Exec("b") }`, []string{"send:a"}},
		{"fresh memory is not nil", `
			type T struct{ n int }
			func f(db *sql.DB) { t := &T{}; if t == nil { db.Exec("a") }; db.Exec("b") }`, []string{"send:b"}},
		{"a switch is a chain of conditions", `
			func f(db *sql.DB, s string) {
				switch s {
				case "x": db.Exec("a")
				case "y": db.Exec("b")
				}
			}`, []string{"send:a", "send:b", ""}},
		{"the answer decides between paths", `
			func f(db *sql.DB) {
				var ok bool
				db.QueryRow("try").Scan(&ok)
				if ok { db.Exec("a") } else { db.Exec("b") }
			}`, []string{"send:try send:a", "send:try send:b"}},
	})
}

func TestDefers(t *testing.T) {
	checkRows(t, []row{
		{"run last first", `
			func f(db *sql.DB) { defer db.Exec("a"); defer db.Exec("b"); db.Exec("c") }`,
			[]string{"send:c defer/send:b defer/send:a"}},
		{"run on each way out, if they were met", `
			func f(db *sql.DB, n int) {
				defer db.Exec("a")
				if n > 3 { return }
				defer db.Exec("b")
			}`, []string{"defer/send:a", "defer/send:b defer/send:a"}},
		{"keep the operands of the defer statement", `
			func f(db *sql.DB) { q := "a"; defer db.Exec(q); q = "b"; db.Exec(q) }`,
			[]string{"send:b defer/send:a"}},
		{"in a closure see what variables hold at the end", `
			func f(db *sql.DB) { q := "a"; defer func() { db.Exec(q) }(); q = "b"; db.Exec(q) }`,
			[]string{"send:b defer/send:b"}},
		{"in a helper are not the caller's", `
			func g(db *sql.DB) { defer db.Exec("a"); db.Exec("b") }
			func f(db *sql.DB) { g(db); db.Exec("c") }`,
			[]string{"send:b send:a send:c"}},
		{"look at the named error", `
			func f(db *sql.DB) (err error) {
				tx, _ := db.Begin()
				defer func() { if err != nil { tx.Rollback() } else { tx.Commit() } }()
				return errors.New("x")
			}`, []string{"begin defer/rollback"}},
	})
}

func TestEndsOfThePath(t *testing.T) {
	checkRows(t, []row{
		{"a panic", `
			func f(db *sql.DB, n int) { db.Exec("a"); if n > 3 { panic("x") }; db.Exec("b") }`,
			[]string{"send:a send:b"}},
		{"os.Exit", `
			func f(db *sql.DB, n int) { defer db.Exec("c"); db.Exec("a"); if n > 3 { os.Exit(1) }; db.Exec("b") }`,
			[]string{"send:a exit !", "send:a send:b defer/send:c"}},
		{"log.Fatal", `
			func f(db *sql.DB) { if _, err := db.Exec("a"); err != nil { log.Fatal(err) }; db.Exec("b") }`,
			[]string{"send:a exit !", "send:a send:b"}},
		{"log.Panic, of which callers may recover", `
			func f(db *sql.DB) { if _, err := db.Exec("a"); err != nil { log.Panic(err) }; db.Exec("b") }`,
			[]string{"send:a send:b"}},
		{"a test's Fatal", `
			func f(t *testing.T, db *sql.DB) { if _, err := db.Exec("a"); err != nil { t.Fatal(err) }; db.Exec("b") }`,
			[]string{"send:a send:b"}},
		{"a helper that exits", `
			func die(msg string) { log.Println(msg); os.Exit(2) }
			func f(db *sql.DB) { if _, err := db.Exec("a"); err != nil { die("x") }; db.Exec("b") }`,
			[]string{"send:a exit !", "send:a send:b"}},
	})
}

func TestLoops(t *testing.T) {
	checkRows(t, []row{
		{"are entered a bounded number of times", `
			func f(db *sql.DB, n int) { for i := 0; i < n; i++ { db.Exec("a") } }`,
			[]string{"", "send:a"}},
		{"go on after a break", `
			func f(db *sql.DB) {
				for {
					if _, err := db.Exec("a"); err == nil { break }
				}
				db.Exec("b")
			}`, []string{"send:a send:b", "send:a send:a send:b"}},
		{"over a slice know its elements", `
			func f(db *sql.DB) { for _, q := range []string{"a", "b"} { db.Exec(q) } }`,
			[]string{"", "send:a/b"}},
	})
}

func TestMemory(t *testing.T) {
	checkRows(t, []row{
		{"a field of fresh memory", `
			type T struct{ q, r string }
			func f(db *sql.DB) { t := &T{q: "a", r: "b"}; t.q = "c"; db.Exec(t.q); db.Exec(t.r) }`,
			[]string{"send:c send:b"}},
		{"a field that was not set", `
			type T struct{ q string }
			func f(db *sql.DB) { t := &T{}; db.Exec(t.q + "a") }`, []string{"send:a"}},
		{"a copy of a struct", `
			type T struct{ q string }
			func f(db *sql.DB) { t := T{q: "a"}; u := t; u.q = "b"; db.Exec(t.q); db.Exec(u.q) }`,
			[]string{"send:a send:b"}},
		{"a struct made by a helper", `
			type T struct{ db *sql.DB; q string }
			func make(db *sql.DB, q string) *T { return &T{db, q} }
			func f(db *sql.DB) { t := make(db, "a"); t.db.Exec(t.q) }`, []string{"send:a"}},
		{"a field set by a helper", `
			type T struct{ q string }
			func (t *T) set(q string) { t.q = q }
			func f(db *sql.DB) { t := &T{}; t.set("a"); db.Exec(t.q) }`, []string{"send:a"}},
		{"a field set on one of two paths", `
			type T struct{ q string }
			func f(db *sql.DB, n int) { t := &T{q: "a"}; if n > 3 { t.q = "b" }; db.Exec(t.q) }`,
			[]string{"send:a/b"}},
		{"a map with constant keys", `
			func f(db *sql.DB) { m := map[string]string{"x": "a", "y": "b"}; db.Exec(m["y"]) }`, []string{"send:b"}},
		{"a builder of text", `
			func f(db *sql.DB, k string) {
				var b strings.Builder
				b.WriteString("a")
				b.WriteByte(' ')
				fmt.Fprintf(&b, "%s=%d", k, 4)
				db.Exec(b.String())
			}`, []string{"send:a ?=4"}},
		{"text put together", `
			const base = "a"
			func f(db *sql.DB, k string) { db.Exec(fmt.Sprintf("%s %s b", base, k)); db.Exec(strings.Join([]string{"c", k}, ",")) }`,
			[]string{"send:a ? b send:c,?"}},
		{"a pointer handed to code that is not followed", `
			var keep func(*string)
			func f(db *sql.DB) { q := "a"; keep(&q); db.Exec(q) }`, []string{"send:?"}},
	})
}

func TestCallbacks(t *testing.T) {
	checkRows(t, []row{
		{"are run where they are called", `
			func with(db *sql.DB, do func() error) error {
				db.Exec("a")
				defer db.Exec("b")
				return do()
			}
			func f(db *sql.DB) { with(db, func() error { _, err := db.Exec("c"); return err }); db.Exec("d") }`,
			[]string{"send:a send:c send:b send:d"}},
		{"that are parameters are the caller's to say", `
			func f(db *sql.DB, do func()) { db.Exec("a"); do(); db.Exec("b") }`,
			[]string{"send:a invoke send:b"}},
		{"are followed through two helpers", `
			func outer(do func()) { inner(do) }
			func inner(do func()) { do() }
			func f(db *sql.DB) { outer(func() { db.Exec("a") }) }`, []string{"send:a"}},
		{"may be methods", `
			type T struct{ db *sql.DB }
			func (t *T) work() { t.db.Exec("a") }
			func run(do func()) { do() }
			func f(t *T) { run(t.work) }`, []string{"send:a"}},
		{"may be plain functions", `
			var db *sql.DB
			func work() { db.Exec("a") }
			func run(do func()) { do() }
			func f() { run(work) }`, []string{"send:a"}},
		{"may be a client's own methods", `
			func end(do func() error) { do() }
			func f(db *sql.DB) { tx, _ := db.Begin(); end(tx.Rollback) }`, []string{"begin rollback"}},
		{"tell the helper how it went", `
			func with(tx *sql.Tx, do func() error) {
				if err := do(); err != nil { tx.Rollback(); return }
				tx.Commit()
			}
			func f(db *sql.DB) { tx, _ := db.Begin(); with(tx, func() error { return nil }) }`,
			[]string{"begin commit"}},
		{"given to code that is not followed may run later", `
			var hook func(func())
			func f(db *sql.DB) { hook(func() { db.Exec("a") }); db.Exec("b") }`,
			[]string{"escape(send:a) send:b"}},
		{"of sync.Once run at once", `
			func f(db *sql.DB) { var once sync.Once; once.Do(func() { db.Exec("a") }); db.Exec("b") }`,
			[]string{"send:a send:b"}},
		{"in a goroutine may run later", `
			func f(db *sql.DB) { go func() { db.Exec("a") }(); db.Exec("b") }`,
			[]string{"escape(send:a) send:b"}},
		{"of a test's Cleanup run in the cleanup", `
			func f(t *testing.T, db *sql.DB) { t.Cleanup(func() { db.Exec("a") }); db.Exec("b") }`,
			[]string{"cleanup/escape(cleanup/send:a) send:b"}},
	})
}

func TestVariadicArguments(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"written out", `func f(db *sql.DB, k int) { db.Exec("a", 1, "x", k) }`, "i:1 s:x param"},
		{"none", `func f(db *sql.DB) { db.Exec("a") }`, ""},
		{"in a slice of one's own", `func f(db *sql.DB, k int) { args := []any{1, k}; db.Exec("a", args...) }`, "i:1 param"},
		{"appended", `func f(db *sql.DB, k int) { args := []any{1}; args = append(args, k, 3); db.Exec("a", args...) }`, "i:1 param i:3"},
		{"through a helper", `
			func run(db *sql.DB, args ...any) { db.Exec("a", args...) }
			func f(db *sql.DB, k int) { run(db, 1, k) }`, "i:1 param"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := follow(t, c.body)
			if len(run.Paths) != 1 || len(run.Paths[0].Effects) != 1 {
				t.Fatalf("paths %q", paths(run))
			}
			var got []string
			for _, a := range run.Paths[0].Effects[0].Args {
				switch {
				case symbolic(a):
					got = append(got, "param")
				default:
					got = append(got, a.Str)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("arguments %q, want %q", s, c.want)
			}
		})
	}
}

func TestHandles(t *testing.T) {
	checkRows(t, []row{
		{"a transaction", `
			func f(ctx context.Context, db *sql.DB) {
				tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
				if err != nil { return }
				tx.ExecContext(ctx, "a")
				tx.Commit()
			}`, []string{"snapshot", "snapshot send:a commit"}},
		{"a transaction of the default level", `
			func f(ctx context.Context, db *sql.DB) { tx, _ := db.BeginTx(ctx, nil); tx.Rollback() }`,
			[]string{"begin rollback"}},
		{"a connection", `
			func f(ctx context.Context, db *sql.DB) { c, _ := db.Conn(ctx); defer c.Close(); c.ExecContext(ctx, "a") }`,
			[]string{"take send:a defer/return"}},
		{"a pool of one connection", `
			func f() { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(1); db.Close() }`,
			[]string{"cap endsession"}},
		{"a pool of more", `
			func f(n int) { db, _ := sql.Open("pgx", ""); db.SetMaxOpenConns(n); db.SetMaxOpenConns(2); db.Close() }`,
			[]string{"endsession"}},
		{"a prepared statement", `
			func f(db *sql.DB) { st, err := db.Prepare("a"); if err != nil { return }; st.Exec(1) }`,
			[]string{"", "send:[a]"}},
		{"a method of an interface of the program", `
			type runner interface { ExecContext(context.Context, string, ...any) (sql.Result, error) }
			func f(ctx context.Context, r runner) { r.ExecContext(ctx, "a") }`, []string{"send:a"}},
		{"one that goes to other code", `
			var keep func(*sql.Conn)
			func f(ctx context.Context, db *sql.DB) { c, _ := db.Conn(ctx); keep(c) }`, []string{"take give"}},
		{"a connection thrown away", `
			func f(c *sql.Conn) { c.Raw(func(any) error { return driver.ErrBadConn }) }`, []string{"discard"}},
		{"a connection whose driver is looked at", `
			func f(ctx context.Context, c *sql.Conn) {
				c.Raw(func(d any) error { _, err := d.(driver.ExecerContext).ExecContext(ctx, "a", nil); return err })
			}`, []string{"send:a"}},
	})
}

func TestDoneContextIsNoted(t *testing.T) {
	checkRows(t, []row{
		{"by a receive", `
			func f(ctx context.Context, db *sql.DB) { db.Exec("a"); <-ctx.Done(); db.Exec("b") }`,
			[]string{"send:a done send:b"}},
		{"by a case of a select", `
			func f(ctx context.Context, db *sql.DB, c chan int) {
				select {
				case <-ctx.Done(): db.Exec("a")
				case <-c: db.Exec("b")
				}
			}`, []string{"done send:a", "send:b"}},
	})
}

func TestReturnedFunctionsAreRunAsTheyWouldBe(t *testing.T) {
	run := follow(t, `
		type T struct{ undo func() }
		func f(db *sql.DB, t *T) (func(), error) {
			if _, err := db.Exec("take"); err != nil { return nil, err }
			t.undo = func() { db.Exec("undo") }
			return func() { db.Exec("a"); db.Exec("b") }, nil
		}`)
	var got []string
	for _, p := range run.Paths {
		for _, r := range p.Returned {
			got = append(got, tell(r.Effects))
		}
	}
	slices.Sort(got)
	if want := []string{"returned/send:a returned/send:b", "returned/send:undo"}; !slices.Equal(got, want) {
		t.Errorf("returned functions do %q, want %q", got, want)
	}
}
