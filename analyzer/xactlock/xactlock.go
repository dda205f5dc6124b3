// Package xactlock reports transaction-level locks outside a transaction.
package xactlock

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `xactlock: report transaction-level locks taken outside a transaction

pg_advisory_xact_lock holds until its transaction ends. Without BEGIN every
statement is a transaction of its own, so the lock is gone before the next line
runs and protects nothing.

For example:

	db.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", ledger)
	db.ExecContext(ctx, "UPDATE ledgers SET total = total + 1 WHERE id = $1", ledger)

Run both on one transaction, or call pglock.DoTx. A string of several
statements without arguments is an implicit transaction and is not reported,
nor is a handle of which it is not known whether it is a transaction.`

// Analyzer is the rule xactlock.
var Analyzer = report.Rule{
	Name:    "xactlock",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.OnTx,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Xact && e.Has(lockflow.OutsideTx)
}

func message(e *lockflow.Event) string {
	return fmt.Sprintf("%s runs on %s, outside a transaction: the lock is gone as its own statement ends; begin a transaction first or use %s",
		report.Func(e), report.HandleKind(e), report.Do(e))
}
