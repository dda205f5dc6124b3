package symexec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
)

// lines are n statements, each made from the form with its number.
func lines(n int, form string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form+"\n", i)
	}
	return b.String()
}

func around(n int, before, inside, after string) string {
	return strings.Repeat(before, n) + inside + strings.Repeat(after, n)
}

// large are functions larger than anybody writes.
var large = []struct {
	name, body string
	truncated  bool
}{
	{"branches that send", "func f(db *sql.DB, n int) {" + lines(400, `if n > %d { db.Exec("a%[1]d") }`) + "}", true},
	{"branches that send and return", "func f(db *sql.DB, n int) {" + lines(400, `if n > %d { db.Exec("a%[1]d"); return }`) + "}", true},
	{"errors looked at", "func f(db *sql.DB) {" + lines(400, `if _, err := db.Exec("a%d"); err != nil { return }`) + "}", true},
	{"statements in a row", "func f(db *sql.DB) {" + lines(400, `db.Exec("a%d")`) + "}", true},
	{"deferred calls", "func f(db *sql.DB, n int) {" + lines(120, `if n > %d { defer db.Exec("a%[1]d") }`) + "}", true},
	{"branches that do nothing", "func f(db *sql.DB, n int) { s := 0;" + lines(400, `if n > %d { s++ }`) + `db.Exec("a", s) }`, false},
	{"loops in one another", "func f(db *sql.DB, n int) {" + around(40, "for i := 0; i < n; i++ {", `db.Exec("a")`, "}") + "}", false},
	{"closures in one another", "func f(db *sql.DB) {" + around(60, "func() {", `db.Exec("a")`, "}()") + "}", false},
	{"values of one variable", `func f(db *sql.DB, n int) { q := ""; switch n {` + lines(300, `case %d: q = "a%[1]d"`) + "}; db.Exec(q) }", false},
	{"text that grows", `func f(db *sql.DB, n int) { q := "a"; for n > 0 { q = q + q + fmt.Sprint(n); n-- }; db.Exec(q) }`, false},
	{"fields of a struct", "type T struct {" + lines(300, "f%d string") + "}\nfunc f(db *sql.DB) { t := &T{};" +
		lines(300, `t.f%d = "a"`) + "db.Exec(t.f7) }", false},
	{"helpers that call twice", "func f(db *sql.DB, n int) { g0(db, n) }\n" +
		lines(20, `func g%d(db *sql.DB, n int) { if n > %[1]d { db.Exec("a") } else { g%[1]d_(db, n); g%[1]d_(db, n+1) } }`) +
		lines(19, `func g%d_(db *sql.DB, n int) { h(db, n); g%[1]d__(db, n) }`) +
		lines(19, `func g%d__(db *sql.DB, n int) { next(db, n, %[1]d) }`) +
		"func g19_(db *sql.DB, n int) {}\nfunc h(db *sql.DB, n int) { if n > 3 { db.Exec(\"b\") } }\n" +
		"func next(db *sql.DB, n, i int) { switch i {" + lines(18, `case %d: g%[1]d(db, n)`) + "} }", false},
}

func TestLargeFunctionsStayWithinTheBounds(t *testing.T) {
	for _, c := range large {
		t.Run(c.name, func(t *testing.T) {
			w := build(t, c.body)
			run := Follow(w, w.pkg.Func("f"))
			if run.Truncated != c.truncated {
				t.Errorf("truncated %t, with %d paths", run.Truncated, len(run.Paths))
			}
			if len(run.Paths) > 4*maxStates {
				t.Errorf("%d paths", len(run.Paths))
			}
			for _, p := range run.Paths {
				if len(p.Effects) > summary.MaxEffects+1 {
					t.Fatalf("a path with %d effects", len(p.Effects))
				}
			}
			s := Summarise(run)
			if len(s.Outcomes) > summary.MaxOutcomes {
				t.Errorf("%d outcomes", len(s.Outcomes))
			}
			if run.Truncated && !s.Truncated {
				t.Error("the summary does not say that paths were dropped")
			}
			if size := len(encode(t, s)); size > 256<<10 {
				t.Errorf("the summary takes %d bytes", size)
			}
		})
	}
}

// What calls itself, or holds itself, ends.
func TestRecursionEnds(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"a function", `func f(db *sql.DB, n int) { db.Exec("a"); if n > 0 { f(db, n-1) } }`},
		{"two functions", `
			func f(db *sql.DB, n int) { db.Exec("a"); if n > 0 { g(db, n-1) } }
			func g(db *sql.DB, n int) { if n > 0 { f(db, n-1) } }`},
		{"a closure", `func f(db *sql.DB) { var g func(int); g = func(n int) { db.Exec("a"); if n > 0 { g(n-1) } }; g(3) }`},
		{"two closures", `
			func f(db *sql.DB) {
				var even, odd func(int)
				even = func(n int) { db.Exec("a"); if n > 0 { odd(n-1) } }
				odd = func(n int) { db.Exec("b"); if n > 0 { even(n-1) } }
				even(9)
			}`},
		{"a closure that is given itself", `
			type again func(again)
			func f(db *sql.DB) { var g again = func(h again) { db.Exec("a"); h(h) }; g(g) }`},
		{"a closure that makes closures", `
			func f(db *sql.DB) { g(db, 3, func() {}) }
			func g(db *sql.DB, n int, then func()) { if n == 0 { then(); return }; g(db, n-1, func() { db.Exec("a"); then() }) }`},
		{"a deferred call of itself", `func f(db *sql.DB) { defer f(db); db.Exec("a") }`},
		{"a struct that holds itself", `
			type T struct{ self *T; q string }
			func f(db *sql.DB) { t := &T{q: "a"}; t.self = t; db.Exec(t.self.self.self.q) }`},
		{"two structs that hold one another", `
			type T struct{ u *U; q string }
			type U struct{ t *T }
			func f(db *sql.DB) { t := &T{q: "a"}; t.u = &U{t}; db.Exec(t.u.t.u.t.q) }`},
		{"a linked list", `
			type node struct{ next *node; q string }
			func f(db *sql.DB, n int) {
				var head *node
				for i := 0; i < n; i++ { head = &node{head, "a"} }
				for p := head; p != nil; p = p.next { db.Exec(p.q) }
			}`},
		{"a list walked by a helper", `
			type node struct{ next *node; q string }
			func (p *node) run(db *sql.DB) { if p != nil { db.Exec(p.q); p.next.run(db) } }
			func f(db *sql.DB, p *node) { p.next = p; p.run(db) }`},
		{"a tree", `
			type node struct{ left, right *node; q string }
			func (p *node) run(db *sql.DB) { if p == nil { return }; p.left.run(db); db.Exec(p.q); p.right.run(db) }
			func f(db *sql.DB, p *node) { p.run(db) }`},
		{"an interface that holds itself", `
			func f(db *sql.DB) { var x any; x = &x; db.Exec("a", x) }`},
		{"a slice that holds itself", `
			func f(db *sql.DB) { s := []any{nil}; s[0] = s; db.Exec("a", s...) }`},
		{"a map that holds itself", `
			func f(db *sql.DB) { m := map[string]any{}; m["m"] = m; db.Exec("a", m) }`},
		{"labels and goto", `
			func f(db *sql.DB, n int) {
			again:
				db.Exec("a")
				if n > 0 { n--; goto again }
			}`},
		{"memory that goes to other code", `
			type T struct{ self *T; do func() }
			var keep func(*T)
			func f(db *sql.DB) { t := &T{}; t.self = t; t.do = func() { keep(t); db.Exec("a") }; keep(t) }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := follow(t, c.body)
			if len(run.Paths) == 0 {
				t.Fatal("no path is left")
			}
			sends := 0
			for _, p := range run.Paths {
				sends += strings.Count(tell(p.Effects), "send:")
			}
			if sends == 0 {
				t.Errorf("nothing is sent on the paths %q", paths(run))
			}
		})
	}
}

// The order in which maps are walked must not show.
func TestSummariesAreTheSameEachTime(t *testing.T) {
	bodies := map[string]string{"a bit of everything": `
		type T struct{ c *sql.Conn; q, r string; undo []func() }
		func (t *T) each(do func(string) error) error {
			for _, q := range []string{t.q, t.r} { if err := do(q); err != nil { return err } }
			return nil
		}
		func f(ctx context.Context, db *sql.DB, t *T, opt map[string]string, n int) (ok bool, err error) {
			c, err := db.Conn(ctx)
			if err != nil { return false, err }
			defer func() { if !ok { c.Close() } }()
			args := map[string]any{"a": 1, "b": n, "c": t.q}
			switch n {
			case 1: t.q = "x"
			case 2: t.r = "y"
			case 3: opt["k"] = "z"
			}
			if err = t.each(func(q string) error { _, err := c.ExecContext(ctx, q, args); return err }); err != nil { return }
			select {
			case <-ctx.Done(): return false, ctx.Err()
			default:
			}
			t.c, t.undo = c, append(t.undo, func() { c.Close() }, func() { db.Exec(opt["k"]) })
			err = c.QueryRowContext(ctx, t.q, t.r, n).Scan(&ok)
			return
		}`}
	for _, c := range large {
		bodies[c.name] = c.body
	}
	delete(bodies, "branches that send")
	delete(bodies, "deferred calls")
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			w := build(t, body)
			want := encode(t, w.Summary(w.pkg.Func("f")))
			for range 2 {
				w.forget()
				if got := encode(t, w.Summary(w.pkg.Func("f"))); !bytes.Equal(got, want) {
					t.Fatal("two runs give two summaries")
				}
			}
		})
	}
}
