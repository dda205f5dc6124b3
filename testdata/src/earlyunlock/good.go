package earlyunlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

// DeferredAfterCheck defers the unlock once there is a lock.
func DeferredAfterCheck(ctx context.Context, conn *pgx.Conn, lane int64, run Print) (released bool, err error) {
	var got bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lane).Scan(&got); err != nil {
		return false, err
	}
	if !got {
		return false, errBusy
	}
	defer func() {
		row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lane)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr, errNotHeld)
		}
	}()
	return false, run(ctx)
}

// DeferredGuarded defers the unlock early, and makes it do nothing without the lock.
func DeferredGuarded(ctx context.Context, conn *pgx.Conn, lane int64, run Print) (released bool, err error) {
	var got bool
	defer func() {
		if !got {
			return
		}
		row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, lane)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr, errNotHeld)
		}
	}()
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lane).Scan(&got); err != nil {
		return false, err
	}
	if !got {
		return false, errBusy
	}
	return false, run(ctx)
}

// RefusedPlainly leaves a lane alone that it does not have.
func RefusedPlainly(ctx context.Context, conn *sql.Conn, lane int64, run Print) error {
	got, err := tryLane(ctx, conn, lane)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(run(ctx), freeLane(ctx, conn, lane))
}

// Waiting unlocks after an error of the blocking lock, too: when a timeout and the grant meet, the
// client gets the error and the session has the lock.
func Waiting(ctx context.Context, conn *sql.Conn, lane int64, run Print) error {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lane); err != nil {
		freeErr := freeLane(ctx, conn, lane)
		if errors.Is(freeErr, errNotHeld) {
			freeErr = nil
		}
		return errors.Join(err, freeErr)
	}
	return errors.Join(run(ctx), freeLane(ctx, conn, lane))
}

// PinnedMySQL takes and frees a named lock on one connection.
func PinnedMySQL(ctx context.Context, db *sql.DB, name string, busy func(), run Print) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		busy()
		return errBusy
	}
	defer func() {
		var released sql.NullInt64
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr, errNotHeld)
		}
	}()
	return run(ctx)
}
