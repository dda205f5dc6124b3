// Package joblock takes the bakery's locks.
package joblock

import (
	"context"
	"database/sql"
)

// Execer is what a lock is taken on.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Hold takes the lock of a job.
func Hold(ctx context.Context, on Execer, job int64) error {
	_, err := on.ExecContext(ctx, "SELECT pg_advisory_lock($1)", job)
	return err
}
