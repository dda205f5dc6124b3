package pgadvisory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A LockInfo is one row of pg_locks about an advisory lock of the current database, with what
// pg_stat_activity knows of its backend. What the user may not see, for want of pg_read_all_stats, is
// empty.
type LockInfo struct {
	Key         LockKey
	Mode        string // as pg_locks has it: ExclusiveLock or ShareLock
	Granted     bool   // false: it is waited for
	PID         int    // of the backend; 0 for a prepared transaction
	User        string
	Application string // application_name
	Client      string // address; empty for a local socket
	State       string // of the backend: "active", "idle", "idle in transaction", ...
	Query       string // the one that runs, or the last; cut to track_activity_query_size bytes
	Blockers    []int  // pids in the way of one who waits (pg_blocking_pids); 0 for a prepared transaction

	// Times by the server's clock, zero when unknown.
	BackendStart time.Time
	XactStart    time.Time // of the transaction that is open
	QueryStart   time.Time // of Query
	StateChange  time.Time // when State began
	WaitStart    time.Time // PostgreSQL 14 and later; zero also in the first moment of a wait
}

// Since is since when the lock is waited for, or since when at the latest it is held: the server does
// not keep when it was granted. A backend that is idle has done nothing since its last statement ended.
func (i LockInfo) Since() time.Time {
	switch {
	case !i.Granted && !i.WaitStart.IsZero():
		return i.WaitStart
	case !i.Granted || i.State == "active":
		return i.QueryStart
	default:
		return i.StateChange
	}
}

// Shared reports whether the lock is held or wanted in shared mode.
func (i LockInfo) Shared() bool { return i.Mode == "ShareLock" }

// A LockKey is the key of an advisory lock: of one bigint, or of two integers, which never meet.
type LockKey struct {
	Int64 int64    // of pg_advisory_lock(bigint); 0 for a pair
	Pair  bool     // of pg_advisory_lock(int, int)
	Parts [2]int32 // of a pair
}

// String is the arguments of pg_advisory_lock: "42" or "1, 2".
func (k LockKey) String() string {
	if k.Pair {
		return fmt.Sprintf("%d, %d", k.Parts[0], k.Parts[1])
	}
	return fmt.Sprint(k.Int64)
}

// pairForm is the objsubid of a lock of two integers; one of a bigint has 1 (PostgreSQL manual, pg_locks).
const pairForm = 2

// decodeKey puts together what pg_locks shows as two oids, which are unsigned: the bits count, so
// that negative keys come out right.
func decodeKey(class, object uint32, form int) LockKey {
	if form == pairForm {
		return LockKey{Pair: true, Parts: [2]int32{int32(class), int32(object)}}
	}
	return LockKey{Int64: int64(uint64(class)<<32 | uint64(object))}
}

// A QueryRow runs one statement and scans its first row: Session.QueryRow, or a pool's.
type QueryRow func(ctx context.Context, sql string, args []any, dest ...any) error

// Holders gives the advisory locks of the current database that are granted, in order of key.
func Holders(ctx context.Context, query QueryRow) ([]LockInfo, error) {
	return inspect(ctx, query, "holders", `l.granted`)
}

// Waiters gives the advisory locks of the current database that someone waits for, in order of key.
func Waiters(ctx context.Context, query QueryRow) ([]LockInfo, error) {
	return inspect(ctx, query, "waiters", `NOT l.granted`)
}

// LeakSuspects gives the locks whose backend has been idle, in a transaction or not, for longer than
// olderThan.
func LeakSuspects(ctx context.Context, query QueryRow, olderThan time.Duration) ([]LockInfo, error) {
	return inspect(ctx, query, "leak suspects",
		`l.granted AND a.state LIKE 'idle%' AND a.state_change < clock_timestamp() - $1::float8 * interval '1 second'`,
		olderThan.Seconds())
}

// OfProgram gives the granted locks of backends that look like the one that answers: its user, its
// application_name, its client address, and not older than age.
func OfProgram(ctx context.Context, query QueryRow, age time.Duration) ([]LockInfo, error) {
	return inspect(ctx, query, "locks of the program", `l.granted
 AND a.backend_start >= clock_timestamp() - $1::float8 * interval '1 second'
 AND EXISTS (SELECT FROM pg_stat_activity me WHERE me.pid = pg_backend_pid()
  AND me.usesysid = a.usesysid AND me.application_name = a.application_name
  AND me.client_addr IS NOT DISTINCT FROM a.client_addr)`, age.Seconds())
}

// selectLocks takes a condition. All rows come as one JSON text, which every driver can scan. Waitstart
// is read through jsonb since servers before 14 do not have the column. pg_locks shows every database.
const selectLocks = `SELECT coalesce(json_agg(r ORDER BY r."Class", r."Object", r."Form", r."Granted" DESC, r."PID"), '[]')::text
FROM (SELECT l.classid::bigint AS "Class", l.objid::bigint AS "Object", l.objsubid AS "Form",
 l.mode AS "Mode", l.granted AS "Granted", coalesce(l.pid, 0) AS "PID", a.usename AS "User",
 a.application_name AS "Application", host(a.client_addr) AS "Client", a.state AS "State", a.query AS "Query",
 CASE WHEN NOT l.granted THEN pg_blocking_pids(l.pid) END AS "Blockers",
 a.backend_start AS "BackendStart", a.xact_start AS "XactStart", a.query_start AS "QueryStart",
 a.state_change AS "StateChange", to_jsonb(l)->>'waitstart' AS "WaitStart"
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory'
 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `

func inspect(ctx context.Context, query QueryRow, what, condition string, args ...any) ([]LockInfo, error) {
	var text string
	if err := query(ctx, selectLocks+condition+`) r`, args, &text); err != nil {
		return nil, fmt.Errorf("postgresql: %s: %w", what, err)
	}
	var rows []struct {
		LockInfo
		Class, Object uint32
		Form          int
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("postgresql: %s: %w", what, err)
	}
	infos := make([]LockInfo, len(rows))
	for i, r := range rows {
		infos[i] = r.LockInfo
		infos[i].Key = decodeKey(r.Class, r.Object, r.Form)
	}
	return infos, nil
}
