// Package getdel reports releases of a lock by GET, a comparison and DEL.
package getdel

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `getdel: report releases of a lock by GET, a comparison and DEL

GET, comparing and DEL are three steps. The lease can run out after the GET has
shown our own token, another process takes the lock, and the DEL deletes that
one's key. Then a third is let in beside the second.

For example:

	if client.Get(ctx, key).Val() == token {
		client.Del(ctx, key) // whoever's key that is by now
	}

Compare and delete in one step: redislock.DelIfEqual, a script, or WATCH with
the DEL in its MULTI. A MULTI without WATCH does not help, for the GET is not
part of it. Not reported: scripts, WATCH, DELEX IFEQ and DELIFEQ, and keys that
are no locks, such as one-time codes.`

// Analyzer is the rule getdel.
var Analyzer = report.Rule{
	Name:    "getdel",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.DeleteIfEqual,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseRelease && e.Has(lockflow.GetThenDelete)
}

func message(e *lockflow.Event) string {
	return report.Command(e) + " runs after a GET and a comparison: the lease can run out in between, and then it deletes the next holder's lock; " +
		"compare and delete in one step with redislock.DelIfEqual"
}
