// Package earlyunlock prints labels. Each lane of the warehouse has one printer, which one job at a
// time may use; a job that finds its lane taken goes away.
package earlyunlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

var (
	errBusy    = errors.New("lane is taken")
	errNotHeld = errors.New("lane was not locked")
)

// Print is the work under the lock.
type Print func(ctx context.Context) error

// Deferred defers the unlock before it looks at the answer.
func Deferred(ctx context.Context, conn *pgx.Conn, lane int64, run Print) (released bool, err error) {
	var got bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lane).Scan(&got); err != nil {
		return false, err
	}
	defer func() {
		row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lane) // want `pg_advisory_unlock .*said no`
		if scanErr := row.Scan(&released); scanErr != nil {
			err = errors.Join(err, scanErr)
		}
	}()
	if !got {
		return false, errBusy
	}
	return false, run(ctx)
}

func tryLane(ctx context.Context, conn *sql.Conn, lane int64) (got bool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lane).Scan(&got)
	return got, err
}

func freeLane(ctx context.Context, conn *sql.Conn, lane int64) error {
	var released bool
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lane)
	err := row.Scan(&released)
	if err == nil && !released {
		err = errNotHeld
	}
	return err
}

// Refused cleans up where there is nothing to clean up.
func Refused(ctx context.Context, conn *sql.Conn, lane int64, run Print) error {
	got, err := tryLane(ctx, conn, lane)
	if err != nil {
		return err
	}
	if !got {
		if err := freeLane(ctx, conn, lane); err != nil { // want `pg_advisory_unlock .*said no`
			return err
		}
		return errBusy
	}
	return errors.Join(run(ctx), freeLane(ctx, conn, lane))
}

// Pooled unlocks on whichever connection the pool gives it, which may well be the holder's. The
// program is told of a taken lane by busy.
func Pooled(ctx context.Context, db *sql.DB, lane int64, busy func(), run Print) (err error) {
	var got bool
	if err := db.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lane).Scan(&got); err != nil {
		return err
	}
	defer func() {
		var released bool
		row := db.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lane) // want `pg_advisory_unlock .*said no`
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr)
		}
	}()
	if !got {
		busy()
		return errBusy
	}
	return run(ctx)
}

// PooledMySQL is Pooled with a named lock.
func PooledMySQL(ctx context.Context, db *sql.DB, name string, busy func(), run Print) (err error) {
	var got sql.NullInt64
	if err := db.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&got); err != nil {
		return err
	}
	defer func() {
		var released sql.NullInt64
		row := db.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name) // want `(?i)release_lock .*said no`
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr)
		}
	}()
	if got.Int64 != 1 {
		busy()
		return errBusy
	}
	return run(ctx)
}
