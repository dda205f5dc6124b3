package lockview

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MineByBackend lets the server say which backend asks.
func MineByBackend(ctx context.Context, conn *sql.Conn) (held bool, err error) {
	const q = `SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()`
	err = conn.QueryRowContext(ctx, q).Scan(&held)
	return held, err
}

// LocksByBackend is MineByBackend for a console, whose statements must share one connection.
func (c *Console) LocksByBackend(ctx context.Context) (n int64, err error) {
	const q = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`
	err = c.db.WithContext(ctx).Raw(q).Scan(&n).Error
	return n, err
}

// MineByNumber asks the server for the number first, and gives that to the helper.
func MineByNumber(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
	var pid int
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		return false, err
	}
	return heldBy(ctx, conn, pid)
}

// here keeps other databases out: pg_locks shows the locks of all of them.
const here = ` AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// RunningAt asks for a lock of two keys, with their signs.
func RunningAt(ctx context.Context, pool *pgxpool.Pool, site, job int32) (held bool, err error) {
	const q = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
		AND classid::int4 = $1 AND objid::int4 = $2` + here + `)`
	err = pool.QueryRow(ctx, q, site, job).Scan(&held)
	return held, err
}

// NumberedAt asks for a lock of one key.
func NumberedAt(ctx context.Context, pool *pgxpool.Pool, number int64) (held bool, err error) {
	const q = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
		AND (classid::bigint << 32) | objid::bigint = $1` + here + `)`
	err = pool.QueryRow(ctx, q, number).Scan(&held)
	return held, err
}

// Job is a lock as the console shows it.
type Job struct {
	Keys    int32 // 1 or 2
	Number  int64 // of one key
	Site    int32 // of two keys
	On      int32
	Backend int32
}

// Jobs lists all of them, in both forms.
func Jobs(ctx context.Context, pool *pgxpool.Pool) ([]Job, error) {
	const q = `SELECT objsubid::int4,
		       CASE objsubid WHEN 1 THEN (classid::bigint << 32) | objid::bigint ELSE 0 END,
		       CASE objsubid WHEN 2 THEN classid::int4 ELSE 0 END,
		       CASE objsubid WHEN 2 THEN objid::int4 ELSE 0 END,
		       pid
		  FROM pg_locks WHERE locktype = 'advisory' AND granted` + here + ` ORDER BY 1, 2, 3, 4`
	rows, err := pool.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Job])
}
