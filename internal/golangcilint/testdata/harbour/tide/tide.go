// Package tide opens the lock gates when the tide is in.
package tide

import (
	"context"
	"database/sql"
	"errors"
)

// Open waits at the gates for as long as it takes.
func Open(conn *sql.Conn, gate int64, swing func() error) (err error) {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, gate); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut(ctx, conn, gate)) }()
	return swing()
}

func shut(ctx context.Context, conn *sql.Conn, gate int64) error {
	var open bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, gate).Scan(&open); err != nil {
		return errors.Join(err, conn.Raw(func(any) error { return sql.ErrConnDone }))
	}
	if !open {
		return errors.New("the gate was not open")
	}
	return nil
}
