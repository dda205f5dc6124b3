// Package unlockctx reports cleanups that release with a context which may be cancelled by then.
package unlockctx

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `unlockctx: report releases in a cleanup whose context may be cancelled by then

A deferred unlock runs when the work is over, and the work is often over
because its context was cancelled. With a cancelled context most drivers send
nothing: the unlock is skipped and the lock goes back to the pool on a healthy
connection.

For example:

	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", shard)

Give the unlock a context of its own:

	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", shard)

better with a timeout, or call pglock.Unlock, which does both. The rule looks
at deferred calls, at functions given to testing's Cleanup or to
context.AfterFunc, at closures that are returned, and at what follows a
receive from Done. An unlock in the ordinary flow is not reported.`

// Analyzer is the rule unlockctx.
var Analyzer = report.Rule{
	Name:    "unlockctx",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.Detach,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return (e.Lease != nil && e.Releases() || e.Lock != nil && e.Lock.Func.Op != sqltext.Acquire && e.Lock.Func.Session()) &&
		e.Cleanup != lockflow.NoCleanup && e.Context.Kind == lockflow.Cancellable
}

func message(e *lockflow.Event) string {
	name, why := e.Context.Name, e.Context.Why
	if name == "" {
		name = "a context"
	}
	if why == "" {
		why = "may be cancelled by then"
	}
	return fmt.Sprintf("%s runs %s with %s, which %s: once that is cancelled the unlock is not sent and the lock stays held; use context.WithoutCancel or %s",
		report.Func(e), places[e.Cleanup], name, why, report.Unlock(e))
}

var places = map[lockflow.Cleanup]string{
	lockflow.InDefer:    "in a defer",
	lockflow.InCleanup:  "in a cleanup",
	lockflow.InReturned: "in a closure that outlives its function",
	lockflow.AfterDone:  "after Done",
}
