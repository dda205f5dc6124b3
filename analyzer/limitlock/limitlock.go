// Package limitlock reports lock calls at the query level of a LIMIT.
package limitlock

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `limitlock: report lock functions that stand beside a LIMIT

A LIMIT bounds the rows that a query returns, not the rows for which its
functions run. With the lock in WHERE, and a sort, join, DISTINCT or UNION, the
server calls the lock function for every row and then returns a few; with the
lock in the select list that depends on the plan, and the manual promises
nothing. The locks of the rows not returned are held by nobody who knows.

For example:

	SELECT pg_advisory_lock(id) FROM parcels WHERE weight > 20 LIMIT 5

Put the LIMIT into a subquery below the lock:

	SELECT pg_advisory_lock(p.id)
	FROM (SELECT id FROM parcels WHERE weight > 20 LIMIT 5) AS p

LIMIT ALL and LIMIT NULL bound nothing and are not reported.`

// Analyzer is the rule limitlock.
var Analyzer = report.Rule{
	Name:    "limitlock",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.LowerLimit,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Op == sqltext.Acquire && e.Lock.Limit == sqltext.Yes
}

func message(e *lockflow.Event) string {
	return fmt.Sprintf("%s stands at the query level of a LIMIT: rows beyond the limit may be locked too, and nobody unlocks them; put the LIMIT into a subquery below it, or lock each key with %s",
		report.Func(e), report.Do(e))
}
