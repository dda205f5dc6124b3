// Package poollock reports session-level locks on a handle that may change its connection.
package poollock

import (
	"fmt"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `poollock: report session-level locks taken or released on a connection pool

A session-level lock (pg_advisory_lock, GET_LOCK) belongs to the connection
that took it, and only that connection can release it. A pool may run every
statement on another connection: the unlock then answers false, the lock stays
with an idle connection, and nobody gets it until that connection is closed.
One goroutine alone mostly gets the same connection back, so tests do not show
the mistake; under load most unlocks miss.

For example:

	func (s *Store) Compact(ctx context.Context) error {
		s.db.ExecContext(ctx, "SELECT pg_advisory_lock(7)") // s.db is a *sql.DB
		defer s.db.ExecContext(ctx, "SELECT pg_advisory_unlock(7)")
		return s.compact(ctx)
	}

Take one connection with s.db.Conn(ctx) and use it for the lock and for the
unlock, or call pglock.Do.

A pool that is capped at one connection is not reported, nor is a handle of
which it is not known whether it is a pool.`

// Analyzer is the rule poollock.
var Analyzer = report.Rule{
	Name:    "poollock",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.OnConn,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Session() && e.Handle.Kind == client.Pool
}

func message(e *lockflow.Event) string {
	if e.Lock.Func.Op == sqltext.Acquire {
		return fmt.Sprintf("%s runs on %s: the unlock may run on another connection and leave the lock held; pin one with %s or use %s",
			report.Func(e), report.HandleKind(e), pin(e.Handle.Type), report.Do(e))
	}
	return fmt.Sprintf("%s runs on %s: it may run on another connection than the lock did and leave it held; run both on one from %s or use %s",
		report.Func(e), report.HandleKind(e), pin(e.Handle.Type), report.Do(e))
}

// pins says how each library gives out a single connection, by the package in a handle's type.
var pins = []struct{ pkg, call string }{
	{"pgxpool.", "pool.Acquire"},
	{"gorm.", "db.Connection"},
	{"sqlx.", "db.Connx"},
	{"xorm.", "a session after Begin"},
}

func pin(typ string) string {
	for _, p := range pins {
		if strings.Contains(typ, p.pkg) {
			return p.call
		}
	}
	return "db.Conn"
}
