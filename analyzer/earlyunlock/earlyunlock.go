// Package earlyunlock reports releases that run though the lock was not acquired.
package earlyunlock

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `earlyunlock: report releases that run though the acquire said no

A release that is deferred before the acquire's answer is looked at, or that
stands on the path where the answer was no, frees a lock that this caller does
not hold: with a lock of the same key taken earlier on that connection it ends
that one, and with a lease it ends another process's.

For example:

	var mine bool
	conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", lane).Scan(&mine)
	defer conn.ExecContext(bg, "SELECT pg_advisory_unlock($1)", lane)
	if !mine {
		return errBusy // unlocks all the same
	}

Defer the release after the check, or call pglock.Do. An unlock after a blocking
pg_advisory_lock that returned an error is not reported: the lock may be held
then, and the unlock is the cure.`

// Analyzer is the rule earlyunlock.
var Analyzer = report.Rule{
	Name:    "earlyunlock",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return (e.Lease != nil || e.Lock != nil && e.Lock.Func.Op != sqltext.Acquire) && e.Has(lockflow.NotHeld)
}

func message(e *lockflow.Event) string {
	acquire := "the acquire"
	if e.Other != nil {
		acquire = report.Func(e.Other)
	}
	return fmt.Sprintf("%s runs even when %s said no: it may end a lock that somebody else relies on; release only after the answer was yes or use %s",
		report.Func(e), acquire, report.Do(e))
}
