// Package crane unloads ships.
package crane

import (
	"context"
	"database/sql"
)

// Unload gives its crane back and does not ask whether it still had it.
func Unload(ctx context.Context, conn *sql.Conn, crane int64, lift func() error) error {
	var ours bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, crane).Scan(&ours); err != nil || !ours {
		return err
	}
	err := lift()
	if _, unlockErr := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, crane); unlockErr != nil {
		return unlockErr
	}
	return err
}
