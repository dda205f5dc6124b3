// Package locktoken reports locks whose value does not tell one holder from another.
package locktoken

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `locktoken: report locks whose value is compared but not unique

A release or renewal that compares the lock's value protects the next holder
only when the two values differ. A constant, a time, a pid or a host name can be
the same for both, and then the comparison succeeds for someone whose lease is
over.

For example:

	client.SetNX(ctx, key, os.Getpid(), time.Minute)
	...
	compareAndDelete.Run(ctx, client, []string{key}, os.Getpid())

In containers every process has pid 1. Use a random value made for each
acquisition (uuid.NewString, crypto/rand's Text), or redislock's Locker.Do,
which makes one. Not reported: a random value made once for an object or a
process, values that come from the caller, and locks that nobody compares:
blinddel reports their release.`

// Analyzer is the rule locktoken.
var Analyzer = report.Rule{
	Name:    "locktoken",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Lease.Op == lockflow.LeaseAcquire && e.Has(lockflow.SharedToken)
}

func message(e *lockflow.Event) string {
	return report.Command(e) + " gives the lock a value that another holder can have too: the comparison at its release or renewal then succeeds on that holder's lock; " +
		"use a random value for each acquisition, or redislock's Locker.Do"
}
