// Package etcdsession reports etcd sessions that end too early and mutexes that share one.
package etcdsession

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `etcdsession: report etcd sessions that end before their lock, and mutexes that share one

A session renews its lease for as long as the context lives that it was made
with, not only while it is made: a context with a timeout for the connection,
or one that is cancelled as the constructor returns, stops the renewal, and the
lock is free one TTL later while the work goes on. And a mutex belongs to its
session: two mutexes of one prefix on one session do not exclude each other.

For example:

	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	session, err := concurrency.NewSession(client, concurrency.WithContext(ctx))
	...
	return &elector{session: session}, err // its lease is not renewed any more

Give the session no context, or one that lives as long as the lock, and bound
Lock and TryLock instead. Inside one process, make a session for each holder,
or put a sync.Mutex before the shared one.`

// Analyzer is the rule etcdsession.
var Analyzer = report.Rule{
	Name:    "etcdsession",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Has(lockflow.ShortSession|lockflow.TwinMutex)
}

func message(e *lockflow.Event) string {
	if e.Has(lockflow.TwinMutex) {
		return "this is a second mutex of the same prefix on the same session: both are locked at the same time, because etcd grants the lock to a session; use one session for each"
	}
	return "the session's context ends while its lock is in use: the lease is not renewed any more and the lock is lost one TTL later; give the session a context that lives as long as the lock, and a deadline to Lock alone"
}
