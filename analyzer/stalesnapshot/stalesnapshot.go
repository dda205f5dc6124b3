// Package stalesnapshot reports locks that are taken after the snapshot they should protect.
package stalesnapshot

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `stalesnapshot: report locks taken inside the snapshot that they should protect

A lock orders two workers only when what the second one reads is newer than the
lock. In a REPEATABLE READ or SERIALIZABLE transaction all statements see the
snapshot of the first one, which may be the wait for the lock itself; and a
statement that locks and reads, or writes, took its snapshot before it waited.
Either way the second worker sees what was there before the first one's commit.

For example:

	UPDATE seats SET taken = true
	WHERE id = (SELECT id FROM seats WHERE NOT taken LIMIT 1)
	AND pg_advisory_xact_lock(9) IS NOT NULL

Take the lock in a statement of its own, in a READ COMMITTED transaction, or
before BEGIN; pglock.DoTx does the former. Not on by default: a program may
check again, or retry on a serialization error.`

// Analyzer is the rule stalesnapshot.
var Analyzer = report.Rule{
	Name:    "stalesnapshot",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Op == sqltext.Acquire && (e.Has(lockflow.InSnapshot) || inOwnStatement(e))
}

// inOwnStatement: the code inside a DO block or a function runs statement by statement, each with
// a snapshot of its own.
func inOwnStatement(e *lockflow.Event) bool {
	return e.Stmt != nil && (e.Stmt.ReturnsColumns || e.Stmt.Writes) && !e.Lock.Nested
}

func message(e *lockflow.Event) string {
	if e.Has(lockflow.InSnapshot) {
		return fmt.Sprintf("%s runs inside a transaction with one snapshot for all: it may be older than the lock, and reads miss what the last holder wrote; lock before the transaction, with %s.Do, or use READ COMMITTED",
			report.Func(e), report.Runtime(e))
	}
	return fmt.Sprintf("%s stands in the statement that it should protect: its snapshot is older than the lock, and it misses what the last holder wrote; lock in a statement of its own or use %s",
		report.Func(e), report.Do(e))
}
