package lockflow

import (
	"fmt"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

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

// Programs without end, and larger than anybody writes, end without a fault; none has more events
// than its calls in the text can have. After each stands a plain function, which must be judged
// whatever became of the one before.
func TestLargeAndEndlessProgramsAreJudged(t *testing.T) {
	for _, c := range []struct {
		name, body string
		least      int // events beside the plain function's
		most       int
	}{
		{"400 branches with lock calls", "func f(db *sql.DB, n int) {" + lines(400, `if n > %d { db.Exec("SELECT pg_advisory_lock(%[1]d)") }`) + "}", 0, 400},
		{"400 branches that return", "func f(db *sql.DB, n int) {" + lines(400, `if n > %d { db.Exec("SELECT pg_advisory_lock(%[1]d)"); return }`) + "}", 40, 400},
		{"40 locks in a row", "func f(db *sql.DB) {" + lines(40, `db.Exec("SELECT pg_advisory_lock(%d)")`) + "}", 40, 40},
		{"400 functions", lines(400, `func f%d(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(%[1]d)") }`), 400, 400},
		{"a chain of 60 functions", lines(60, `func f%d(db *sql.DB) { f%[1]d_(db) }; func f%[1]d_(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(%[1]d)") }`), 120, 120},
		{"closures that call one another", `func f(db *sql.DB) {
			var even, odd func(int)
			even = func(n int) { db.Exec("SELECT pg_advisory_lock(1)"); if n > 0 { odd(n - 1) } }
			odd = func(n int) { db.Exec("SELECT pg_advisory_unlock(1)"); if n > 0 { even(n - 1) } }
			even(9)
		}`, 2, 16},
		{"functions that call one another", `
			func even(db *sql.DB, n int) { db.Exec("SELECT pg_advisory_lock(1)"); if n > 0 { odd(db, n-1) } }
			func odd(db *sql.DB, n int) { db.Exec("SELECT pg_advisory_unlock(1)"); if n > 0 { even(db, n-1) } }`, 2, 16},
		{"methods that call one another through an interface", `
			type step interface{ run(*sql.DB) }
			type A struct{ next step }
			type B struct{ next step }
			func (a *A) run(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(1)"); a.next.run(db) }
			func (b *B) run(db *sql.DB) { db.Exec("SELECT pg_advisory_unlock(1)"); b.next.run(db) }`, 2, 32},
		{"a struct that holds itself", `
			type T struct { self *T; db *sql.DB; q string }
			func f(db *sql.DB) { t := &T{db: db, q: "SELECT pg_advisory_lock(1)"}; t.self = t; t.self.self.self.db.Exec(t.self.self.q) }
			func g(t *T) { t.self.self.self.self.db.Exec(t.self.self.self.q) }`, 1, 4},
		{"a linked list", `
			type node struct { next *node; conn *sql.Conn }
			func (p *node) lock(ctx context.Context) { if p != nil { p.conn.ExecContext(ctx, "SELECT pg_advisory_lock(1)"); p.next.lock(ctx) } }
			func f(ctx context.Context, db *sql.DB, n int) {
				var head *node
				for i := 0; i < n; i++ { c, _ := db.Conn(ctx); head = &node{head, c} }
				for p := head; p != nil; p = p.next { p.conn.ExecContext(ctx, "SELECT pg_advisory_lock(2)") }
				head.lock(ctx)
			}`, 2, 16},
		{"a generic type that grows", `
			type P[A any] struct{ a A; next *P[A] }
			func (p *P[A]) lock(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(1)"); p.next.lock(db) }
			func f(db *sql.DB) { (&P[int]{}).lock(db); (&P[P[int]]{}).lock(db) }`, 1, 8},
		{"text in pieces", "func f(db *sql.DB, n int) { q := \"SELECT pg_advisory_lock(\";" + lines(200, `if n > %d { q += "%[1]d" }`) + `db.Exec(q + ")") }`, 0, 16},
		{"a text with 2000 locks", "func f(db *sql.DB) { db.Exec(`" + strings.Repeat("SELECT pg_advisory_lock(1);\n", 2000) + "`) }", 1, 2000},
		{"a map of 500 texts", "var texts = map[string]string{" + lines(500, `"%d": "SELECT pg_advisory_lock(%[1]d)",`) + "}\nfunc f(db *sql.DB, k string) { db.Exec(texts[k]) }", 0, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := one(t, c.body+"\nfunc plain(db *sql.DB) { db.Exec(\"SELECT pg_advisory_xact_lock(77)\") }\n")
			n := len(events)
			if n == 0 || events[n-1].Lock == nil || !events[n-1].Lock.Func.Xact || !events[n-1].Has(OutsideTx) {
				t.Fatal("the plain function is not judged")
			}
			if n--; n < c.least || n > c.most {
				t.Errorf("%d events, want %d to %d", n, c.least, c.most)
			}
		})
	}
}

func TestAFaultInAFunctionIsRecovered(t *testing.T) {
	ran := false
	pass := newProgram().load(t, "example.com/p", "package p").pass(&facts{})
	guard(pass, "f", func() {
		ran = true
		panic("a fault")
	})
	if !ran {
		t.Error("the function did not run")
	}
}

// A fact without sense makes following its caller fail, and nothing else.
func TestAFaultInAFunctionLeavesTheOthers(t *testing.T) {
	pr := newProgram()
	pr.add(t, "example.com/gatekeeper", gatekeeper)
	p := pr.load(t, "example.com/p", user+`
		func before(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(1)") }
		func faulty(ctx context.Context, conn *sql.Conn) { conn.ExecContext(ctx, "SELECT pg_advisory_lock(2)"); gatekeeper.Lock(ctx, conn, 7) }
		func after(db *sql.DB) { db.Exec("SELECT pg_advisory_lock(3)") }`)
	pass := p.pass(pr.facts)
	asked := false
	pass.ImportObjectFact = func(obj types.Object, f analysis.Fact) bool {
		if fact, ok := f.(*FuncFact); ok && obj.Name() == "Lock" {
			asked = true
			fact.Summary = &summary.Summary{Outcomes: []*summary.Outcome{nil}}
			return true
		}
		return pr.facts.get(obj, f)
	}
	var keys []string
	for _, e := range analyse(t, pass) {
		keys = append(keys, e.Key)
	}
	if got := strings.Join(keys, " "); !asked || got != "1 3" {
		t.Errorf("the fact was asked for %t; events of %q, want those of 1 and 3", asked, got)
	}
}

func TestAFaultInExportingLeavesTheEvents(t *testing.T) {
	p := newProgram().load(t, "example.com/gatekeeper", gatekeeper)
	pass := p.pass(&facts{})
	exported := 0
	pass.ExportObjectFact = func(types.Object, analysis.Fact) { exported++; panic("a fault") }
	if events := analyse(t, pass); len(events) == 0 || exported == 0 {
		t.Errorf("%d events, %d facts begun", len(events), exported)
	}
}
