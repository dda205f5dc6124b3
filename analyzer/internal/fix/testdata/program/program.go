// Package program is a harbour whose berths are locked. Each function has one mistake that a fix
// takes away, so that after all fixes the rules find nothing.
package program

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"time"
)

var errTaken = errors.New("berth is taken")

// free unlocks in the right way.
func free(ctx context.Context, conn *sql.Conn, berth int64) error {
	var freed bool
	err := conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock($1)", berth).Scan(&freed)
	if err == nil && !freed {
		err = errTaken
	}
	return err
}

// take locks, and frees what a failed lock may have left.
func take(ctx context.Context, conn *sql.Conn, berth int64) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", berth)
	if err != nil {
		err = errors.Join(err, free(context.WithoutCancel(ctx), conn, berth))
	}
	return err
}

// Moor drops the answer of the unlock.
func Moor(ctx context.Context, db *sql.DB, berth int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := take(ctx, conn, berth); err != nil {
		return err
	}
	failed := work()
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", berth); err != nil {
		return err
	}
	return failed
}

// Berth drops it in a defer, where only the log is left.
func Berth(ctx context.Context, db *sql.DB, berth int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := take(ctx, conn, berth); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", berth)
	log.Printf("berth %d is taken", berth)
	return work()
}

// Try goes on whatever the answer is.
func Try(ctx context.Context, db *sql.DB, berth int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_try_advisory_lock($1)", berth); err != nil {
		return err
	}
	return errors.Join(work(), free(context.WithoutCancel(ctx), conn, berth))
}

// Sail unlocks with a context that may be over.
func Sail(ctx context.Context, db *sql.DB, berth int64, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := take(ctx, conn, berth); err != nil {
		return err
	}
	defer func() {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var freed bool
		failed := conn.QueryRowContext(short, "SELECT pg_advisory_unlock($1)", berth).Scan(&freed)
		if failed != nil || !freed {
			err = errors.Join(err, failed)
		}
	}()
	return work()
}

// Steam gives the connection back too early.
func Steam(ctx context.Context, db *sql.DB, berth int64, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", berth); err != nil {
		return errors.Join(err, free(context.WithoutCancel(ctx), conn, berth), conn.Close())
	}
	defer func() {
		err = errors.Join(err, free(context.WithoutCancel(ctx), conn, berth))
	}()
	defer conn.Close()
	return work()
}

// First locks the first berths, and perhaps more.
func First(ctx context.Context, tx *sql.Tx, quay int) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(id) FROM berths WHERE quay = $1 ORDER BY id LIMIT 3", quay)
	return err
}

// Refit locks beside its transaction.
func Refit(ctx context.Context, db *sql.DB, berth int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", berth); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE berths SET refit = now() WHERE id = $1", berth); err != nil {
		return err
	}
	return tx.Commit()
}

// Dredge locks beside its connection.
func Dredge(ctx context.Context, db *sql.DB, berth int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock($1)", berth); err != nil {
		return errors.Join(err, free(context.WithoutCancel(ctx), conn, berth))
	}
	return errors.Join(work(), free(context.WithoutCancel(ctx), conn, berth))
}

// Wait sets a timeout that ends with its own statement.
func Wait(ctx context.Context, db *sql.DB, berth int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET LOCAL lock_timeout = '2s'"); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", berth); err != nil {
		return errors.Join(err, free(context.WithoutCancel(ctx), conn, berth))
	}
	return errors.Join(work(), free(context.WithoutCancel(ctx), conn, berth))
}
