// Package setnonx reports locks that are taken by a SET without NX.
package setnonx

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `setnonx: report locks taken by a SET without NX

SET overwrites. Without NX it answers OK to everybody, so that two processes hold
the lock, and the value of the first is gone. A GET or EXISTS beforehand does not
help: two processes can both see no key and then both set it.

For example:

	if client.Exists(ctx, key).Val() == 0 {
		client.Set(ctx, key, token, time.Minute) // two may get here
	}

In go-redis, Set never sends NX; use SetNX, or SetArgs with Mode "NX", and go on
only when the answer is yes, or use redislock's Locker.Do. Not reported: a SET in
the MULTI of a WATCH, a script, and keys that are no locks, such as caches and
sessions.`

// Analyzer is the rule setnonx.
var Analyzer = report.Rule{
	Name:    "setnonx",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseAcquire && e.Has(lockflow.Unconditional)
}

func message(e *lockflow.Event) string {
	return report.Command(e) + " takes the lock without NX: it overwrites the lock of a holder, and both go on; " +
		"take it with SET NX (SetNX in go-redis) or use redislock's Locker.Do"
}
