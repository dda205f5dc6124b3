// Package lockview reports queries that read pg_locks wrongly.
package lockview

import (
	"slices"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `lockview: report wrong readings of pg_locks

Three mistakes make a query of pg_locks answer about another lock, or about
none. Its pid is a server process, never os.Getpid(). A key is spread over
classid, objid and objsubid: objsubid is 1 for one bigint key and 2 for two int
keys, and (1, 2) is not (1 << 32) | 2, so a comparison without objsubid mixes
them up. And classid << 32 without a cast to bigint loses the upper half.

For example:

	SELECT (classid << 32) | objid FROM pg_locks WHERE locktype = 'advisory'

Write:

	SELECT (classid::bigint << 32) | objid::bigint
	FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1

and compare pid with pg_backend_pid() of the connection in question.`

// Analyzer is the rule lockview.
var Analyzer = report.Rule{
	Name:    "lockview",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Stmt != nil && len(e.Stmt.View) > 0 || e.Getpid
}

func message(e *lockflow.Event) string {
	switch {
	case e.Getpid:
		return "pg_locks.pid is compared with os.Getpid(), the program's own process: it is the server's, so the query finds nothing or a stranger; select pg_backend_pid() on the lock's connection, or ask Check of a lock.Handle from pglock"
	case slices.Contains(e.Stmt.View, sqltext.NarrowShift):
		return "classid of pg_locks is shifted by 32 bits without a cast to bigint: the upper half of the key is lost; write (classid::bigint << 32) | objid::bigint, or ask Check of a lock.Handle from pglock"
	}
	return "a key is put together from classid and objid of pg_locks without objsubid: one bigint key and two int keys look the same; add objsubid = 1 (one key) or objsubid = 2 (two keys), or ask Check of a lock.Handle from pglock"
}
