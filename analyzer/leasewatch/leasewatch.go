// Package leasewatch reports work under a lease whose loss nobody would notice.
package leasewatch

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `leasewatch: report work under a lease whose loss nobody would notice

A lease can be lost while the work goes on: the process was paused, the network
was silent, the server failed over. The holder is told nothing unless it looks.
Then two work at the same time.

For example:

	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))
	return work(ctx) // goes on after the session's lease is gone

Stop the work when the session's Done is closed, or run it with session.Ctx().
With redsync, read Until before each step that matters, or extend the lock and
read the answer. A redislock.Locker gives the work a context that ends with the
lease.`

// Analyzer is the rule leasewatch.
var Analyzer = report.Rule{
	Name:    "leasewatch",
	Doc:     doc,
	Holds:   func(e *lockflow.Event) bool { return e.Lease != nil && e.Has(lockflow.Unwatched) },
	Message: message,
}.Analyzer()

func message(e *lockflow.Event) string {
	if e.Lease.System == "etcd" {
		return fmt.Sprintf("nobody watches for the loss of the lease of %s: the work goes on when another session has the lock; end it when the session's Done is closed",
			report.Command(e))
	}
	return fmt.Sprintf("nobody watches for the loss of the lease of %s: the work goes on when another has the lock; look at Until or at what Extend says, or use a redislock.Locker",
		report.Command(e))
}
