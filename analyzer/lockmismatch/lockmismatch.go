// Package lockmismatch reports releases that do not match the lock held.
package lockmismatch

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `lockmismatch: report releases that name another lock than the one held

A lock is freed only by the release of its own level, mode and key.
pg_advisory_unlock frees no shared lock and no transaction-level lock;
(1, 2) as two keys is not (1 << 32) | 2 as one. The release answers false and
the lock stays.

For example:

	conn.ExecContext(ctx, "SELECT pg_advisory_lock_shared($1)", index)
	defer conn.ExecContext(bg, "SELECT pg_advisory_unlock($1)", index) // not _shared

Write the release beside the acquire, with the same key expression, or call
pglock.Do, which keeps the two together. Keys that cannot be compared are not
reported.`

// Analyzer is the rule lockmismatch.
var Analyzer = report.Rule{
	Name:    "lockmismatch",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.Op == sqltext.Release && e.Has(lockflow.Mismatched)
}

func message(e *lockflow.Event) string {
	return fmt.Sprintf("%s does not match %s: it frees nothing and the lock stays held; %s or use %s",
		call(e), held(e.Other), remedy(e), do(e))
}

// do is for the lock that was taken, whose level says whether a transaction holds it.
func do(release *lockflow.Event) string {
	if release.Other != nil && release.Other.Lock != nil {
		return report.Do(release.Other)
	}
	return report.Do(release)
}

func held(acquire *lockflow.Event) string {
	if acquire == nil || acquire.Lock == nil {
		return "the lock that is held"
	}
	return call(acquire)
}

func call(e *lockflow.Event) string {
	key := report.Key(e)
	if key == "" {
		return report.Func(e)
	}
	return fmt.Sprintf("%s(%s)", report.Func(e), key)
}

// remedy names the first difference that can be seen, in the order level, mode, key.
func remedy(release *lockflow.Event) string {
	acquire := release.Other
	switch {
	case acquire == nil || acquire.Lock == nil:
		return "release what was taken"
	case acquire.Lock.Func.Xact:
		return "leave the release to the end of the transaction"
	case acquire.Lock.Func.Shared && !release.Lock.Func.Shared:
		return "release with pg_advisory_unlock_shared"
	case release.Lock.Func.Shared && !acquire.Lock.Func.Shared:
		return "release with pg_advisory_unlock"
	}
	return "release with the key that was taken"
}
