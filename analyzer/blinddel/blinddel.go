// Package blinddel reports releases of a lock that do not look at who holds it.
package blinddel

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `blinddel: report releases that delete a lock's key whoever holds it

A lock with an expiry can end before its holder has finished. The next process
then takes it, and the first one's DEL deletes the second one's key. The same
happens when the DEL runs for a process that never got the lock.

For example:

	ok, err := client.SetNX(ctx, key, 1, time.Minute).Result()
	if err != nil || !ok {
		return errBusy
	}
	defer client.Del(ctx, key) // after a minute this is another's key

Give each acquisition a token of its own and compare and delete in one step:
redislock.DelIfEqual, or redislock's Locker.Do for all of it. Not reported: a
function that says that it forces (force, break, admin, steal), the undo of an
idempotency mark, and keys that are no locks: caches, counters, flags that
somebody else removes.`

// Analyzer is the rule blinddel.
var Analyzer = report.Rule{
	Name:    "blinddel",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseRelease && e.Has(lockflow.BlindDelete)
}

func message(e *lockflow.Event) string {
	return report.Command(e) + " does not look at who holds the lock: once this holder's lease has run out it deletes the next holder's; " +
		"give each acquisition a token and release with redislock.DelIfEqual, or use redislock's Locker.Do"
}
