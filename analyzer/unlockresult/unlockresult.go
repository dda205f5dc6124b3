// Package unlockresult reports releases whose answer is not read.
package unlockresult

import (
	"fmt"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `unlockresult: report releases of a lock whose answer nobody reads

pg_advisory_unlock answers false, and RELEASE_LOCK answers 0 or NULL, when
this connection does not hold the lock. Neither is an error. A program that
only looks at the error takes a lock that is still held elsewhere, on another
connection or under another key, for released.

For example:

	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", room)

Read the answer and treat false as a failure:

	var freed bool
	err := conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock($1)", room).Scan(&freed)
	if err == nil && !freed {
		err = errors.New("the room's lock was not held")
	}

or call pglock.Unlock, which does that. Not reported: pg_advisory_unlock_all,
which answers nothing, and a release after which the connection is really
closed, because the server then frees the lock by itself.`

// Analyzer is the rule unlockresult.
var Analyzer = report.Rule{
	Name:    "unlockresult",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.ReadAnswer,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Releases() &&
		(e.Answer == lockflow.AnswerUnread || e.Answer == lockflow.AnswerMisread) &&
		!e.Has(lockflow.SessionEnds)
}

func message(e *lockflow.Event) string {
	fact := "is not read"
	if e.Answer == lockflow.AnswerMisread {
		fact = "is not in what is read here"
	}
	if e.Lease != nil && !strings.HasPrefix(e.Lease.Command, "the script") && e.Lease.Library != "" {
		return fmt.Sprintf("the answer of %s %s: a lock that was lost before its release is only seen there; look at it or use %s", report.Func(e), fact, report.Unlock(e))
	}
	return fmt.Sprintf("the answer of %s %s: %s means that the lock was not released, and no error says so; scan it or use %s",
		report.Func(e), fact, report.No(e), report.Unlock(e))
}
