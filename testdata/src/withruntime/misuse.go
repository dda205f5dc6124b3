package withruntime

import (
	"context"
	"database/sql"
	"errors"

	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// The functions of the runtime release on the right connection and read the answer. When and what they release is
// up to the program, and wrong here.

// MixUp takes the lock in shared mode and releases it in the other.
func MixUp(ctx context.Context, db *sql.DB, press int64, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock_shared($1)`, press); err != nil {
		return errors.Join(err, pglock.UnlockShared(ctx, conn, press))
	}
	defer func() { err = errors.Join(err, pglock.Unlock(ctx, conn, press)) }() // lockmismatch
	return work()
}

// HangUp gives the connection back before the release.
func HangUp(ctx context.Context, db *sql.DB, press int64, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, press); err != nil {
		return errors.Join(err, pglock.Unlock(ctx, conn, press), conn.Close())
	}
	defer func() { err = errors.Join(err, pglock.Unlock(ctx, conn, press)) }() // unlockorder
	defer conn.Close()
	return work()
}

// Presume releases also what it did not get.
func Presume(ctx context.Context, db *sql.DB, press int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var ours bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, press).Scan(&ours); err != nil {
		return err
	}
	defer pglock.Unlock(ctx, conn, press) // earlyunlock
	if !ours {
		return nil
	}
	return work()
}

// Forget does not release when the work fails.
func Forget(ctx context.Context, db *sql.DB, press int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, press); err != nil { // lockleak
		return errors.Join(err, pglock.Unlock(ctx, conn, press))
	}
	if err := work(); err != nil {
		return err
	}
	return pglock.Unlock(ctx, conn, press)
}
