// Package lockkey reports lock keys that collide or do not fit.
package lockkey

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `lockkey: report lock keys that collide or do not fit

A PostgreSQL key has 64 bits. A 32-bit hash (hashtext, crc32, a 32-bit FNV) or
a conversion to int32 leaves half of them: among 77,000 names two collide as
likely as not, and then two unrelated jobs wait for each other, or one is
skipped. MySQL refuses a lock name of more than 64 characters.

For example:

	SELECT pg_advisory_lock(hashtext($1))

Use a 64-bit hash, hashtextextended($1, 0) for one, or lock.Key, which hashes
all its parts to 64 bits and, for MySQL, to a name that fits.

Only the name that is too long is on by default; asking for the rule by name
adds the collisions.`

// Analyzer is the rule lockkey with all its faults.
var Analyzer = report.Rule{
	Name:    "lockkey",
	Doc:     doc,
	Holds:   fault(lockflow.Hash32 | lockflow.Narrowed | lockflow.NameTooLong),
	Part:    refused,
	Message: message,
}.Analyzer()

// NamesAnalyzer is the part of the rule that is on by default: names that the server refuses. It
// goes by the same name, so a driver has one of the two.
var NamesAnalyzer = report.Rule{Name: "lockkey", Doc: doc, Holds: refused, Message: message}.Analyzer()

var refused = fault(lockflow.NameTooLong)

func fault(faults lockflow.KeyFault) func(*lockflow.Event) bool {
	return func(e *lockflow.Event) bool {
		return e.Lock != nil && e.Lock.Func.Op == sqltext.Acquire && e.Fault(faults)
	}
}

func message(e *lockflow.Event) string {
	switch {
	case e.Fault(lockflow.NameTooLong):
		return fmt.Sprintf("the name given to %s is longer than 64 characters: MySQL refuses it; shorten it or let mysqllock make it from a lock.Key",
			report.Func(e))
	case e.Fault(lockflow.Hash32):
		return fmt.Sprintf("the key of %s%s comes from a 32-bit hash: two of some 77,000 names collide as likely as not, and their locks are one; use a 64-bit hash or %s with a lock.Key",
			report.Func(e), key(e), report.Do(e))
	}
	return fmt.Sprintf("the key of %s%s is cut to 32 bits on its way: keys that differ in the rest are one lock; pass all 64 bits or use %s with a lock.Key",
		report.Func(e), key(e), report.Do(e))
}

func key(e *lockflow.Event) string {
	if k := report.Key(e); k != "" {
		return ", " + k + ","
	}
	return ""
}
