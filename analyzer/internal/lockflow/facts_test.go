package lockflow

import (
	"bytes"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

const gatekeeper = `package gatekeeper

import (
	"context"
	"database/sql"
)

// Query is text that others send.
const Query = "SELECT pg_advisory_lock($1)"

// Take is that text in a variable.
var Take = "SELECT pg_advisory_lock($1)"

func Lock(ctx context.Context, conn *sql.Conn, id int64) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", id)
	return err
}

func Unlock(ctx context.Context, conn *sql.Conn, id int64) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", id)
	return err
}

func Try(ctx context.Context, conn *sql.Conn, id int64) (ok bool, err error) {
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&ok)
	return
}

// Acquire gives the function that frees the lock and its connection.
func Acquire(ctx context.Context, db *sql.DB, id int64) (func(context.Context), error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := Lock(ctx, conn, id); err != nil {
		conn.Close()
		return nil, err
	}
	return func(ctx context.Context) {
		Unlock(ctx, conn, id)
		conn.Close()
	}, nil
}

// With runs do under the lock.
func With(ctx context.Context, db *sql.DB, id int64, do func(*sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := Lock(ctx, conn, id); err != nil {
		return err
	}
	defer Unlock(context.WithoutCancel(ctx), conn, id)
	return do(conn)
}

// Keeper keeps its pool.
type Keeper struct{ db *sql.DB }

func New(db *sql.DB) *Keeper { return &Keeper{db} }

func (k *Keeper) Hold(ctx context.Context, id int64) error {
	_, err := k.db.ExecContext(ctx, "SELECT pg_advisory_lock($1)", id)
	return err
}

// Exec sends what it is given.
func Exec(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
	_, err := conn.ExecContext(ctx, query, args...)
	return err
}

// Fresh is a context that nobody ends.
func Fresh(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
`

const user = `package p

import (
	"context"
	"database/sql"

	"example.com/gatekeeper"
)

var _ context.Context
var _ *sql.DB

`

// across analyses a user of gatekeeper.
func across(t *testing.T, body string) []*Event {
	t.Helper()
	pr := newProgram()
	pr.add(t, "example.com/gatekeeper", gatekeeper)
	return pr.add(t, "example.com/p", user+body)
}

func TestFactsReachOtherPackages(t *testing.T) {
	for _, c := range []struct{ name, body, call, want string }{
		{"a function", `func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); gatekeeper.Lock(ctx, conn, 7) }`, "pg_advisory_lock", "leaked"},
		{"two functions", `func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); gatekeeper.Lock(ctx, conn, 7); gatekeeper.Unlock(ctx, conn, 7) }`, "pg_advisory_lock", ""},
		{"two functions with two keys", `func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); gatekeeper.Lock(ctx, conn, 7); gatekeeper.Unlock(ctx, conn, 8) }`, "pg_advisory_unlock", "mismatched"},
		{"an answer", `func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close()
			ok, _ := gatekeeper.Try(ctx, conn, 7)
			if ok { println() }
			gatekeeper.Unlock(ctx, conn, 7) }`, "pg_advisory_unlock", "not held"},
		{"a constant", `const other = "SELECT 1 FROM pg_locks"
		func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); conn.ExecContext(ctx, gatekeeper.Query, 7) }`, "pg_advisory_lock", "leaked"},
		{"a variable", `const other = "SELECT 1 FROM pg_locks"
		func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); conn.ExecContext(ctx, gatekeeper.Take, 7) }`, "pg_advisory_lock", "leaked"},
		{"a forwarder of text", `func f(ctx context.Context, db *sql.DB) {
			conn, _ := db.Conn(ctx); defer conn.Close(); gatekeeper.Exec(ctx, conn, "SELECT pg_advisory_lock($1)", 7) }`, "pg_advisory_lock", "leaked"},
		{"a function that is given back", `func f(ctx context.Context, db *sql.DB) {
			free, err := gatekeeper.Acquire(ctx, db, 7); if err != nil { return }; defer free(ctx) }`, "pg_advisory_lock", ""},
		{"a function value", `var take = gatekeeper.Lock
		func f(ctx context.Context, db *sql.DB) {
			lock := gatekeeper.Lock; conn, _ := db.Conn(ctx); defer conn.Close(); lock(ctx, conn, 7) }`, "pg_advisory_lock", "leaked"},
		{"a method", `func f(k *gatekeeper.Keeper, ctx context.Context) { k.Hold(ctx, 7) }`, "pg_advisory_lock", ""},
		{"a method through an interface", `type holder interface { Hold(context.Context, int64) error }
		var _ holder = (*gatekeeper.Keeper)(nil)
		const other = "SELECT 1 FROM pg_locks"
		func f(h holder) { h.Hold(context.Background(), 7) }`, "pg_advisory_lock", "unbounded"},
		{"a callback that uses the pool", `func f(ctx context.Context, db *sql.DB) error {
			return gatekeeper.With(ctx, db, 7, func(conn *sql.Conn) error { _, err := db.Exec("UPDATE t SET a = 1"); return err }) }`, "use", "starves"},
		{"a context", `func f(ctx context.Context, conn *sql.Conn) { gatekeeper.Lock(gatekeeper.Fresh(ctx), conn, 7) }`, "pg_advisory_lock", "unbounded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range across(t, c.body) {
				if e.Use && c.call == "use" || e.Lock != nil && e.Lock.Func.Name == c.call {
					got = append(got, verdicts(e))
				}
			}
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("events of %s are %q, want one: %q", c.call, got, c.want)
			}
		})
	}
}

func TestAnEventOfAnotherPackageSaysWhereItIsSent(t *testing.T) {
	events := across(t, `func f(ctx context.Context, db *sql.DB) {
		conn, _ := db.Conn(ctx)
		defer conn.Close()
		take(ctx, conn)
	}
	func take(ctx context.Context, conn *sql.Conn) { gatekeeper.Lock(ctx, conn, 7) }`)
	locks := of(events, "pg_advisory_lock")
	if len(locks) != 2 {
		t.Fatalf("%d events", len(locks))
	}
	e := locks[0] // f comes first
	var trail []string
	for _, s := range e.Trail {
		trail = append(trail, s.Posn+" "+s.Text)
	}
	if len(trail) != 2 || !strings.HasPrefix(trail[0], "p.go:") || !strings.HasSuffix(trail[0], " Lock is called here") ||
		trail[1] != "gatekeeper.go:15 pg_advisory_lock is sent here" {
		t.Errorf("the trail is %q", trail)
	}
	if len(trail) == 2 && (!e.Trail[0].Pos.IsValid() || e.Trail[1].Pos.IsValid()) {
		t.Error("a step has a position just when it lies in this package")
	}
	if e.Inner == nil || e.Inner.Inner == nil || e.Inner.Inner.Inner != nil {
		t.Error("the event is not that of take, and within it that of Lock")
	}
	if e.Send.SQL != nil || e.Call == nil || e.Func == nil || e.File == nil {
		t.Error("the syntax is not that of the helper's call")
	}
	if !e.Has(Leaked) || e.Inner.Has(Leaked) {
		t.Errorf("leaked in f %t, in take %t", e.Has(Leaked), e.Inner.Has(Leaked))
	}
}

// A mistake that a helper makes by itself is reported there and not once more for each caller.
func TestFirstReportsAMistakeOnce(t *testing.T) {
	events := one(t, `
		func lock(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(1)") }
		func a(db *sql.DB) { lock(db) }
		func b(db *sql.DB) { lock(db); lock(db) }`)
	var at []*Event
	(&Result{Events: events}).First(func(e *Event) bool { return e.Has(Unbounded) }, func(e *Event) { at = append(at, e) })
	if len(events) != 4 || len(at) != 1 || at[0].Inner != nil {
		t.Errorf("of %d events %d are reported, want that of lock", len(events), len(at))
	}
}

func factsOf(t *testing.T, path, text string) *facts {
	t.Helper()
	pr := newProgram()
	pr.add(t, path, text)
	return pr.facts
}

func TestFactsAreTheSameEachTime(t *testing.T) {
	pr := newProgram()
	p := pr.load(t, "example.com/gatekeeper", gatekeeper)
	var want map[string][]byte
	for range 5 {
		fs := &facts{data: map[string][]byte{}}
		analyse(t, p.pass(fs))
		if want == nil {
			want = fs.data
		}
		if len(fs.data) != len(want) || len(want) == 0 {
			t.Fatalf("%d facts, and before %d", len(fs.data), len(want))
		}
		for k, raw := range fs.data {
			if !bytes.Equal(raw, want[k]) {
				t.Errorf("%s is encoded in two ways", k)
			}
		}
	}
}

func TestFactsAreFewAndSmall(t *testing.T) {
	fs := factsOf(t, "example.com/gatekeeper", gatekeeper+`
type Plain struct{ N int }
func (p *Plain) Inc() int { p.N++; return p.N }
func Sum(a, b int) int { return a + b }
func Name(db *sql.DB) (s string) { db.QueryRow("SELECT name FROM team").Scan(&s); return }
`)
	for _, silent := range []string{"Inc", "Sum", "Name"} {
		for k := range fs.data {
			if strings.Contains(k, silent+" ") {
				t.Errorf("%s has a fact", k)
			}
		}
	}
	for k, raw := range fs.data {
		if len(raw) > 8<<10 {
			t.Errorf("%s takes %d bytes", k, len(raw))
		}
	}
	if n := len(fs.data); n < 8 || n > 12 {
		t.Errorf("%d facts for 9 functions and a variable that matter", n)
	}
}

// What go test calls, nobody else does; what else is in a test file, an external test may.
func TestOfTestFilesWhatOthersCanCallHasFacts(t *testing.T) {
	const body = `

import (
	"database/sql"
	"testing"
)

func Lock(conn *sql.Conn) { conn.ExecContext(nil, "SELECT pg_advisory_lock(1)") }

func TestLock(t *testing.T) { Lock(new(sql.Conn)) }

func BenchmarkLock(b *testing.B) { Lock(new(sql.Conn)) }

func FuzzLock(f *testing.F) { Lock(new(sql.Conn)) }

func TestHelper(t *testing.T, conn *sql.Conn) { Lock(conn) }
`
	for _, c := range []struct{ file, pkg, want string }{
		{"lock_test", "lock", "Lock TestHelper"},
		{"lock_test", "lock_test", ""},
		{"lock", "lock", "BenchmarkLock FuzzLock Lock TestHelper TestLock"},
	} {
		var got []string
		for k := range factsOf(t, "example.com/"+c.file, "package "+c.pkg+body).data {
			name, _, _ := strings.Cut(strings.TrimPrefix(k, "example.com/"+c.file+"."), " ")
			got = append(got, name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("package %s in %s.go has facts of %q, want %q", c.pkg, c.file, got, c.want)
		}
	}
}

func TestAFactSurvivesItsEncoding(t *testing.T) {
	pr := newProgram()
	p := pr.load(t, "example.com/gatekeeper", gatekeeper)
	here := map[string]*FuncFact{}
	pass := p.pass(pr.facts)
	pass.ExportObjectFact = func(obj types.Object, f analysis.Fact) {
		pr.facts.set(obj, f)
		if f, ok := f.(*FuncFact); ok {
			here[obj.(*types.Func).Name()] = f
		}
	}
	analyse(t, pass)
	for name, want := range here {
		got := new(FuncFact)
		obj := p.pkg.Scope().Lookup(name)
		if obj == nil {
			continue // a method
		}
		if !pr.facts.get(obj, got) {
			t.Fatalf("no fact of %s", name)
		}
		if g, w := termsOf(got), termsOf(want); !slices.Equal(g, w) {
			t.Errorf("%s came back with %q, want %q", name, g, w)
		}
		if got.Locks != want.Locks || len(got.Closures) != len(want.Closures) || got.String() != want.String() {
			t.Errorf("%s came back as %s", name, got)
		}
	}
	if len(here["Acquire"].Closures) != 1 {
		t.Errorf("Acquire has %d closures", len(here["Acquire"].Closures))
	}
}

// termsOf are the keys of a fact's terms in order.
func termsOf(f *FuncFact) []string {
	var out []string
	add := func(list ...*term.Term) {
		for _, x := range list {
			if x != nil {
				out = append(out, x.Key())
			}
		}
	}
	sums := []*summary.Summary{f.Summary}
	for _, c := range f.Closures {
		sums = append(sums, c.Summary)
	}
	for _, s := range sums {
		for _, o := range s.Outcomes {
			for _, e := range o.Effects {
				add(e.Handle, e.Text, e.Ctx, e.Made, e.Fn)
				add(e.Args...)
			}
			add(o.Results...)
			for _, c := range o.Facts {
				add(c.Cond)
			}
			for _, st := range o.Stores {
				add(st.Loc, st.Val)
			}
		}
		add(s.Consumes...)
	}
	return out
}
