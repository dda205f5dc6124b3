package pgxlock

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// A LockInfo is one advisory lock of the database, held or waited for: its Key, Mode, whether it is Granted;
// of the backend PID, User, Application, Client, State and Query; the Blockers of one who waits; and
// BackendStart, XactStart, QueryStart, StateChange and WaitStart by the server's clock, zero when unknown.
// What the database user may not see of others, for want of pg_read_all_stats, is empty.
type LockInfo = pgadvisory.LockInfo

// A LockKey is the key of a LockInfo: Int64, or with Pair the two integers Parts.
type LockKey = pgadvisory.LockKey

// A Querier asks a database: a *pgxpool.Pool, *pgxpool.Conn, *pgx.Conn or pgx.Tx.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Holders gives the advisory locks that are held in db's database, by whomever, in order of key.
func Holders(ctx context.Context, db Querier) ([]LockInfo, error) {
	return pgadvisory.Holders(ctx, row(db))
}

// Waiters gives the advisory locks that are waited for in db's database, in order of key.
func Waiters(ctx context.Context, db Querier) ([]LockInfo, error) {
	return pgadvisory.Waiters(ctx, row(db))
}

// LeakSuspects gives the locks whose backend has been idle, in a transaction or not, for longer than
// olderThan: a lock that came back to the pool on its connection looks so. So does one whose holder works
// elsewhere meanwhile, unless it is a Locker's of this module, whose Heartbeat ends the idleness: olderThan
// should be longer than that.
func LeakSuspects(ctx context.Context, db Querier, olderThan time.Duration) ([]LockInfo, error) {
	return pgadvisory.LeakSuspects(ctx, row(db), olderThan)
}

func row(db Querier) pgadvisory.QueryRow {
	return func(ctx context.Context, query string, args []any, dest ...any) error {
		return db.QueryRow(ctx, query, args...).Scan(dest...)
	}
}
