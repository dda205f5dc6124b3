// Package renewrace reports renewals of a lock that can extend another holder's.
package renewrace

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `renewrace: report renewals by EXPIRE that can extend another's lock

EXPIRE extends whatever key is there. A holder that was late, because of a pause
or a slow network, extends the lock of the one who came after it, and takes the
answer 1 for a sign that it still holds the lock itself. A GET and a comparison
beforehand leave a gap in which the lease can run out.

For example:

	for range ticker.C {
		client.Expire(ctx, key, time.Minute) // whoever's key that is by now
	}

Compare and extend in one step: redislock.ExpireIfEqual, a script, or WATCH with
the EXPIRE in its MULTI; stop the work when it says no. redislock's Locker.Do
renews by itself. Not reported: an EXPIRE that completes an acquire, which is
nottl, and keys that are no locks, such as sessions and counters.`

// Analyzer is the rule renewrace.
var Analyzer = report.Rule{
	Name:    "renewrace",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.ExpireIfEqual,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseRenew && e.Has(lockflow.BlindRenewal)
}

func message(e *lockflow.Event) string {
	return report.Command(e) + " extends the lock whoever holds it by then: a holder whose lease has run out extends the next one's and takes it for its own; " +
		"compare and extend in one step with redislock.ExpireIfEqual, or use redislock's Locker.Do"
}
