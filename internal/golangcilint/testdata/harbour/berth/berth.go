// Package berth locks berths by number. What its functions do is known elsewhere by facts only.
package berth

import (
	"context"
	"database/sql"
)

// Querier is a pool, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Reserve waits until the berth is free, and has it until the session ends or Free is called.
func Reserve(ctx context.Context, q Querier, berth int64) error {
	_, err := q.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, berth)
	return err
}

// Free reports whether this session had the berth.
func Free(ctx context.Context, q Querier, berth int64) (bool, error) {
	var had bool
	err := q.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, berth).Scan(&had)
	return had, err
}

// Warden keeps one berth.
type Warden struct{ Berth int64 }

// Reserve is the Reserve of the warden's berth.
func (w *Warden) Reserve(ctx context.Context, q Querier) error { return Reserve(ctx, q, w.Berth) }
