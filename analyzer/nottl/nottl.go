// Package nottl reports locks in Redis that are taken without an expiry.
package nottl

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `nottl: report locks taken without an expiry, or with one set later

A key without an expiry stays when its process is killed before the release, and
nobody gets the lock again until a person deletes it. An EXPIRE that follows the
acquire does not help when the process, or the connection, ends between the two.

For example:

	ok, err := client.SetNX(ctx, key, token, 0).Result() // 0 is no expiry
	if ok {
		client.Expire(ctx, key, time.Minute) // if we get here
	}

Set the expiry with the acquire, SetNX(ctx, key, token, time.Minute), or call
redislock's Locker.Do, which also renews it. Not reported: SETNX and EXPIRE in
one MULTI or script, an expiry that is a parameter or a field of unknown value,
and keys that are no locks.`

// Analyzer is the rule nottl.
var Analyzer = report.Rule{
	Name:    "nottl",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fold,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseAcquire && e.Has(lockflow.NoExpiry|lockflow.LaterExpiry)
}

func message(e *lockflow.Event) string {
	if e.Has(lockflow.LaterExpiry) {
		return fmt.Sprintf("%s takes the lock with no expiry, which %s sets later: a process that dies in between leaves a key that %s never removes; "+
			"set the expiry with the acquire or use redislock's Locker.Do", report.Command(e), report.Later(e), report.System(e))
	}
	return fmt.Sprintf("%s takes the lock with no expiry: a process that dies before it releases leaves a key that %s never removes; "+
		"set an expiry with the acquire or use redislock's Locker.Do", report.Command(e), report.System(e))
}

// fold moves the later expiry to the acquire. Where there is none, nobody but the author knows it.
func fold(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	if !e.Has(lockflow.LaterExpiry) {
		return nil
	}
	return fix.FoldExpiry(pass, e)
}
