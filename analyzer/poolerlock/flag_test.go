package poolerlock

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

func TestPoolerFlagDecidesWithoutAConnectionString(t *testing.T) {
	flag := Analyzer.Flags.Lookup("pooler")
	defer flag.Value.Set("")
	acquire := func(kind client.Kind, f sqltext.Func) *lockflow.Event {
		return &lockflow.Event{Lock: &sqltext.Call{Func: &f}, Handle: lockflow.Handle{Kind: kind}}
	}
	session := sqltext.Func{Name: "pg_advisory_lock"}
	for _, test := range []struct {
		mode string
		e    *lockflow.Event
		want bool
	}{
		{"", acquire(client.Conn, session), false},
		{"session", acquire(client.Conn, session), false},
		{"none", acquire(client.Conn, session), false},
		{"transaction", acquire(client.Conn, session), true},
		{"transaction", acquire(client.Unknown, session), false},
		{"transaction", acquire(client.Tx, sqltext.Func{Name: "pg_advisory_xact_lock", Xact: true}), false},
		{"transaction", acquire(client.Conn, sqltext.Func{Name: "pg_advisory_unlock", Op: sqltext.Release}), false},
	} {
		if err := flag.Value.Set(test.mode); err != nil {
			t.Fatal(err)
		}
		if got := holds(test.e); got != test.want {
			t.Errorf("pooler=%q, %s on a %s: %t, want %t", test.mode, test.e.Lock.Func.Name, test.e.Handle.Kind, got, test.want)
		}
	}
	if err := flag.Value.Set("statement"); err == nil {
		t.Error("pooler=statement is taken")
	}
}
