// Package lockwait reports blocking acquires that wait with no bound.
package lockwait

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `lockwait: report blocking acquires with neither a timeout nor a deadline

pg_advisory_lock, and GET_LOCK with a negative timeout, wait until the holder
lets go. A holder that hangs is not a holder that dies: its connection stays
open, and every waiter waits with it, each on a connection of the pool.

For example:

	ctx := context.Background()
	conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", queue)

Give the context a deadline, set lock_timeout, or call pglock.Do with a context
that has a deadline. A context that is the function's parameter is not reported:
the bound is the caller's business. Not on by default: some programs are meant
to wait.`

// Analyzer is the rule lockwait.
var Analyzer = report.Rule{
	Name:    "lockwait",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Blocking() && e.Has(lockflow.Unbounded)
}

func message(e *lockflow.Event) string {
	bound := "no lock_timeout and no deadline"
	if report.MySQL(e) {
		bound = "no timeout and no deadline"
	}
	return fmt.Sprintf("%s waits with %s: while a holder hangs it hangs too, and keeps its connection; give the context a deadline, as for %s",
		report.Func(e), bound, report.Do(e))
}
