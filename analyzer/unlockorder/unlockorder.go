// Package unlockorder reports releases on a connection that was given back before.
package unlockorder

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `unlockorder: report unlocks that run after their connection was given back

Deferred calls run last in, first out. When the connection's Close or Release
is deferred after the unlock, it runs first: the connection returns to the pool
with the lock on it, and the unlock fails on a closed handle.

For example:

	defer conn.ExecContext(bg, "SELECT pg_advisory_unlock(31)")
	defer conn.Close() // runs first

Defer the Close as soon as there is a connection, and the unlock once there is
a lock; or call pglock.Do. Not reported when what is closed is the session
itself, as with *pgx.Conn: the server then frees its locks.`

// Analyzer is the rule unlockorder.
var Analyzer = report.Rule{
	Name:    "unlockorder",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.Reorder,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Op != sqltext.Acquire && e.Has(lockflow.AfterClose)
}

func message(e *lockflow.Event) string {
	return fmt.Sprintf("%s runs after %s went back to its pool: the unlock fails and the lock stays on the pooled connection; unlock first (defers run in reverse) or use %s",
		report.Func(e), report.Handle(e), report.Do(e))
}
