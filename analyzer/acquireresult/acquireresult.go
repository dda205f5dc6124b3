// Package acquireresult reports acquires that may be refused and whose answer is not read.
package acquireresult

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `acquireresult: report acquires that may say no and whose answer nobody reads

pg_try_advisory_lock answers false, and GET_LOCK answers 0 or NULL, when the
lock is not granted. Neither is an error, so a program that looks only at the
error, or at the number of rows, goes on without the lock.

For example:

	if _, err := conn.ExecContext(ctx, "SELECT pg_try_advisory_lock($1)", feed); err != nil {
		return err
	}
	return importFeed(ctx, feed) // runs whether or not the lock was granted

Scan the answer and go on only when it is true, or call pglock.Do. A SELECT
with pg_try_advisory_lock in its list always returns one row, so RowsAffected
and Next say nothing; with the call in WHERE the number of rows is the answer.`

// Analyzer is the rule acquireresult.
var Analyzer = report.Rule{
	Name:    "acquireresult",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.ReadAnswer,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.MayRefuse() &&
		(e.Answer == lockflow.AnswerUnread || e.Answer == lockflow.AnswerMisread)
}

func message(e *lockflow.Event) string {
	fact := "is not read"
	if e.Answer == lockflow.AnswerMisread {
		fact = "is not in what is read here"
	}
	return fmt.Sprintf("the answer of %s %s: it says %s, without an error, when the lock is not granted, and the work runs unprotected; scan and test it or use %s",
		report.Func(e), fact, report.No(e), report.Do(e))
}
