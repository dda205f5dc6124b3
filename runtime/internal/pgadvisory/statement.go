package pgadvisory

import (
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Statements have pg_backend_pid() beside what they do: it costs nothing and shows whenever a pooler has
// given a statement to another session.
const (
	// pidSQL asks nothing else. Like every statement without arguments it needs no prepared statement.
	pidSQL = `SELECT pg_backend_pid()`

	// ownLocks are the locks of the list $1 that the session holds in the mode $2, a row for each, however
	// often it took it. A bigint key is in two halves in pg_locks, and has objsubid 1.
	ownLocks = `SELECT mode, (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = pg_backend_pid() AND mode = $2::text
		AND (classid::bigint << 32) | objid::bigint = ANY ($1::text::bigint[])`

	countSQL = `SELECT pg_backend_pid(), count(DISTINCT key) FROM (` + ownLocks + `) AS held`
)

// A mode has what differs between exclusive and shared locks.
type mode struct {
	name string // in pg_locks

	// The lock statements give the fencing token, 0 without fencing, -1 when the lock was not granted. CASE
	// is what the manual names for an order of evaluation that can be relied on: the lock is tried, which goes
	// past nobody who waits; if need be the time to wait is set, then the lock is granted; then the token is
	// taken. To set the time first takes the server longer than all the rest of a lock that is free. (A function
	// that returns void is not null.)
	wait, try               string // $1 lock_timeout, $2 key; $1 key
	waitFencing, tryFencing string

	unlock    string // $1 key
	unlockAll string // $1 list of keys; an aggregate sees every row, where AND would stop

	// undo unlocks what of the list $1 the session holds. To unlock what is not held would make the server
	// write a WARNING for each wait that timed out.
	undo string

	// Transaction-level locks have a statement of their own, so that the next one has a snapshot from after the
	// grant. In waitTx each part needs what the part before gives, which makes the order that of the text; the
	// setting is put back for the caller's own statements. When the wait fails the transaction is rolled back,
	// and the setting with it.
	waitTx, tryTx string // $1 key, $2 lock_timeout; $1 key
}

var exclusive, shared = newMode("ExclusiveLock", ""), newMode("ShareLock", "_shared")

func modeOf(isShared bool) *mode {
	if isShared {
		return &shared
	}
	return &exclusive
}

func newMode(name, suffix string) mode {
	wait := func(token string) string {
		return `SELECT pg_backend_pid(), CASE WHEN pg_try_advisory_lock` + suffix + `($2::bigint) THEN ` + token +
			` WHEN set_config('lock_timeout', $1::text, true) IS NOT NULL THEN ` +
			`CASE WHEN pg_advisory_lock` + suffix + `($2::bigint) IS NOT NULL THEN ` + token + ` END END`
	}
	try := func(token string) string {
		return `SELECT pg_backend_pid(), CASE WHEN pg_try_advisory_lock` + suffix + `($1::bigint) THEN ` + token + ` ELSE -1 END`
	}
	const none, next = `0::bigint`, `nextval('advisorylint.fencing_token'::regclass)`
	unlock := `pg_advisory_unlock` + suffix
	return mode{
		name: name,
		wait: wait(none), waitFencing: wait(next),
		try: try(none), tryFencing: try(next),
		unlock: `SELECT pg_backend_pid(), ` + unlock + `($1::bigint)`,
		unlockAll: `SELECT pg_backend_pid(), (SELECT bool_and(` + unlock + `(key)) ` +
			`FROM unnest($1::text::bigint[]) AS key)`,
		undo: `SELECT pg_backend_pid(), coalesce(bool_and(` + unlock + `(key)), true) FROM (` + ownLocks + `) AS held`,
		waitTx: `WITH was AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value),
bound AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true), value FROM was),
granted AS MATERIALIZED (SELECT pg_advisory_xact_lock` + suffix + `($1), value FROM bound)
SELECT set_config('lock_timeout', value, true) IS NOT NULL FROM granted`,
		tryTx: `SELECT pg_try_advisory_xact_lock` + suffix + `($1)`,
	}
}

// list is keys as the text of a bigint[], which every driver can send.
func list(keys []lock.Key) string {
	text := make([]string, len(keys))
	for i, k := range keys {
		text[i] = strconv.FormatInt(k.Int64(), 10)
	}
	return "{" + strings.Join(text, ",") + "}"
}
