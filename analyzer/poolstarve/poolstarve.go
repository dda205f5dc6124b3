// Package poolstarve reports work under a lock that needs a second connection of the lock's pool.
package poolstarve

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `poolstarve: report work under a lock that takes a second connection from its pool

Whoever holds or waits for a session-level lock keeps a connection. If the work
then asks the same pool for another one, as many holders and waiters as the pool
has connections stop each other: each has one, each needs a second, and nobody
gives one back.

For example:

	conn, err := db.Conn(ctx)
	...
	conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", account)
	db.ExecContext(ctx, "UPDATE accounts SET seen = now() WHERE id = $1", account)

Do the work on the connection that holds the lock, or take locks from a pool of
their own: pglock counts its connections apart from the work's. Not on by
default: whether it happens depends on the pool's size and the load.`

// Analyzer is the rule poolstarve.
var Analyzer = report.Rule{
	Name:    "poolstarve",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Use && e.Has(lockflow.Starves)
}

func message(e *lockflow.Event) string {
	return fmt.Sprintf("a statement under the lock takes a second connection from %s, the pool of the lock's own: with as many holders as connections all wait for ever; use the lock's connection, or lock with %s.Do on a pool of its own",
		report.Handle(e), runtime(e))
}

// runtime is that of the lock: the statement itself names no lock system.
func runtime(e *lockflow.Event) string {
	if e.Other != nil {
		return report.Runtime(e.Other)
	}
	return report.Runtime(e)
}
