package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const program = `package p

func f() {
	lock("a")
	lock("b") //lint:ignore narrow the second one is meant
}
`

// run runs a rule on the events of program's calls and gives its diagnostics.
func run(t *testing.T, r Rule, describe func(i int, e *lockflow.Event)) (got []analysis.Diagnostic) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", program, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	res := &lockflow.Result{}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			e := &lockflow.Event{Pos: call.Pos(), Call: call, File: file}
			describe(len(res.Events), e)
			res.Events = append(res.Events, e)
		}
		return true
	})
	a := r.Analyzer()
	_, err = a.Run(&analysis.Pass{
		Analyzer: a, Fset: fset, Files: []*ast.File{file},
		ResultOf: map[*analysis.Analyzer]any{lockflow.Analyzer: res},
		Report:   func(d analysis.Diagnostic) { got = append(got, d) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var narrow = Rule{
	Name:    "narrow",
	Doc:     "narrow: report narrow things",
	Holds:   func(e *lockflow.Event) bool { return e.Use },
	Message: func(e *lockflow.Event) string { return "it is narrow" },
}

func TestReportsWhereTheCallStandsAndShowsTheWay(t *testing.T) {
	acquire := &lockflow.Event{Pos: 20, Lock: &sqltext.Call{Func: &sqltext.Func{Name: "get_lock", System: sqltext.MySQL}}}
	got := run(t, narrow, func(i int, e *lockflow.Event) {
		e.Use = true // the second call is suppressed
		e.Trail = []lockflow.Step{{Pos: 3, Posn: "p.go:1", Text: "lock is called here"}, {Posn: "lib/q.go:7", Text: "it is sent here"}}
		e.Other = acquire
	})
	if len(got) != 1 {
		t.Fatalf("%d diagnostics, want 1: %v", len(got), got)
	}
	d := got[0]
	if program[d.Pos-1:d.End-1] != `lock("a")` || d.Category != "narrow" || d.URL != Page("narrow") || d.Message != "it is narrow" {
		t.Errorf("diagnostic is %+v", d)
	}
	want := []analysis.RelatedInformation{
		{Pos: 3, Message: "lock is called here"},
		{Pos: d.Pos, Message: "lib/q.go:7: it is sent here"},
		{Pos: 20, Message: "GET_LOCK is called here"},
	}
	if len(d.Related) != len(want) {
		t.Fatalf("related information is %+v", d.Related)
	}
	for i := range want {
		if d.Related[i] != want[i] {
			t.Errorf("related %d is %+v, want %+v", i, d.Related[i], want[i])
		}
	}
}

func TestKeepsBackWhatTheSourceSuppresses(t *testing.T) {
	if got := run(t, narrow, func(i int, e *lockflow.Event) { e.Use = i == 1 }); len(got) != 0 {
		t.Errorf("a suppressed finding is reported: %+v", got)
	}
}

func TestAsksForAFixOnlyWhereThereIsSyntax(t *testing.T) {
	asked := 0
	r := narrow
	r.Fix = func(*analysis.Pass, *lockflow.Event) []analysis.SuggestedFix {
		asked++
		return []analysis.SuggestedFix{{Message: "widen"}}
	}
	got := run(t, r, func(i int, e *lockflow.Event) {
		e.Use = true
		if i == 0 {
			e.File = nil
		}
	})
	if asked != 1 || len(got) != 1 || len(got[0].SuggestedFixes) != 0 {
		t.Errorf("asked %d times for fixes of %+v; the second call is suppressed, the first has no file", asked, got)
	}
}

func TestWordsFitTheServer(t *testing.T) {
	event := func(name string, system sqltext.System, xact, shared bool, typ string) *lockflow.Event {
		return &lockflow.Event{
			Lock:   &sqltext.Call{Func: &sqltext.Func{Name: name, System: system, Xact: xact, Shared: shared}},
			Handle: lockflow.Handle{Kind: client.Pool, Name: "s.db", Type: typ},
		}
	}
	for _, test := range []struct {
		e                        *lockflow.Event
		function, do, unlock, no string
	}{
		{event("pg_advisory_lock", sqltext.Postgres, false, false, "*sql.DB"), "pg_advisory_lock", "pglock.Do", "pglock.Unlock", "false"},
		{event("pg_advisory_unlock_shared", sqltext.Postgres, false, true, "*pgxpool.Conn"), "pg_advisory_unlock_shared", "pgxlock.Do", "pgxlock.UnlockShared", "false"},
		{event("pg_advisory_xact_lock", sqltext.Postgres, true, false, "*pgx.Conn"), "pg_advisory_xact_lock", "pgxlock.DoTx", "pgxlock.Unlock", "false"},
		{event("get_lock", sqltext.MySQL, false, false, "*sql.Conn"), "GET_LOCK", "mysqllock.Do", "mysqllock.Release", "0 or NULL"},
	} {
		if f, d, u, n := Func(test.e), Do(test.e), Unlock(test.e), No(test.e); f != test.function || d != test.do || u != test.unlock || n != test.no {
			t.Errorf("%s: %s, %s, %s, %s", test.function, f, d, u, n)
		}
		if got := HandleKind(test.e); got != "s.db, a pool" {
			t.Errorf("the handle is called %q", got)
		}
	}
	if got := HandleKind(&lockflow.Event{Handle: lockflow.Handle{Kind: client.Conn}}); got != "a pinned connection" {
		t.Errorf("a handle without a name is called %q", got)
	}
}

func TestKeyIsShownOnlyWhenAllOfItIsKnown(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "$1": "$1", "8, 15": "8, 15", ", ": "", "3, ": "", "hashtext ( $1 )": "hashtext($1)",
	} {
		if got := Key(&lockflow.Event{Key: key}); got != want {
			t.Errorf("key %q is shown as %q, want %q", key, got, want)
		}
	}
}
