// Package till closes the accounts of a day.
package till

import (
	"context"
	"database/sql"
)

// Close closes a till, and nobody looks at what the release says.
func Close(ctx context.Context, db *sql.DB, till int64, sum func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", till); err != nil {
		return err
	}
	workErr := sum()
	/* 🥨 */ if _, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", till); err != nil {
		return err
	}
	return workErr
}
