// Package lockleak reports session-level locks that go back to the pool with their connection.
package lockleak

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `lockleak: report session-level locks with a path on which nothing unlocks them

A pooled connection that is closed or released keeps its session, and the
session keeps its locks. A path that returns early, by an error for example,
without the unlock hands the lock to the next user of that connection: nobody
else gets it, and that user gets it without asking.

For example:

	conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", tenant)
	if err := migrate(ctx, conn); err != nil {
		return err // conn.Close is deferred, the unlock is not
	}
	conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", tenant)

Defer the unlock right after the acquire, or call pglock.Do. The same holds for
a session-level lock inside a transaction: neither Commit nor Rollback frees
it. Not reported: the path of the acquire's own error, a session that really
ends, and a lock whose handle leaves the function together with its unlock.`

// Analyzer is the rule lockleak.
var Analyzer = report.Rule{
	Name:    "lockleak",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Op == sqltext.Acquire && e.Lock.Func.Session() && e.Has(lockflow.Leaked)
}

func message(e *lockflow.Event) string {
	if e.Handle.Kind == client.Tx {
		return fmt.Sprintf("%s in a transaction has a path with no unlock: commit and rollback do not free a session-level lock, so it stays on the pooled connection; unlock on every path or use %s",
			report.Func(e), tx(e))
	}
	return fmt.Sprintf("%s on %s has a path with no unlock: the connection goes back to its pool with the lock on it; defer the unlock or use %s",
		report.Func(e), report.Handle(e), report.Do(e))
}

// tx is the runtime function for a lock inside a transaction. MySQL has no transaction-level lock.
func tx(e *lockflow.Event) string {
	if report.MySQL(e) {
		return report.Do(e)
	}
	return report.Runtime(e) + ".DoTx"
}
