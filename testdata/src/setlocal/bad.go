// Package setlocal is a library that reindexes its shelves one at a time, and means to give up on a
// shelf that is busy. In bad.go the timeout is set with SET LOCAL where no transaction is open: the
// setting ends with its own statement and the lock is waited for without bound.
package setlocal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

var errNotHeld = errors.New("shelf was not locked by this session")

// Reindex pins a connection for the lock, sets the timeout on it and locks.
func Reindex(ctx context.Context, db *sql.DB, shelf int64, work func(context.Context, *sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SET LOCAL lock_timeout = '20ms'`); err != nil { // want `SET LOCAL.*transaction`
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, shelf)) }()
	return work(ctx, conn)
}

// Inventory does the same with the function behind SET LOCAL, which does not even warn.
func Inventory(ctx context.Context, pool *pgxpool.Pool, shelf int64, work func(context.Context, *pgxpool.Conn) error) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, "20ms"); err != nil { // want `set_config.*transaction`
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return errors.Join(err, conn.Conn().Close(ctx))
	}
	defer func() { err = errors.Join(err, unlockPgx(ctx, conn, shelf)) }()
	return work(ctx, conn)
}

// Relabel sets the timeout on the pool, one line too early.
func Relabel(ctx context.Context, db *sql.DB, shelf int64, work func(context.Context, *sql.Tx) error) error {
	if _, err := db.ExecContext(ctx, `SET LOCAL lock_timeout = '20ms'`); err != nil { // want `SET LOCAL.*transaction`
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, shelf); err != nil {
		return err
	}
	if err := work(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Catalogue is a catalogue kept with gorm.
type Catalogue struct{ db *gorm.DB }

// NewCatalogue returns the catalogue behind dialector.
func NewCatalogue(dialector gorm.Dialector, config *gorm.Config) (*Catalogue, error) {
	db, err := gorm.Open(dialector, config)
	if err != nil {
		return nil, err
	}
	return &Catalogue{db: db}, nil
}

// Merge is Relabel with gorm.
func (c *Catalogue) Merge(ctx context.Context, shelf int64, work func(*gorm.DB) error) error {
	db := c.db.WithContext(ctx)
	if err := db.Exec(`SET LOCAL lock_timeout = 20;`).Error; err != nil { // want `SET LOCAL.*transaction`
		return err
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, shelf).Error; err != nil {
			return err
		}
		return work(tx)
	})
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// bound is right in a transaction and void outside.
func bound(ctx context.Context, e execer, d time.Duration) error {
	_, err := e.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, d.Milliseconds()))
	return err
}

// Dust gives the helper a pinned connection with no transaction on it.
func Dust(ctx context.Context, db *sql.DB, shelf int64, work func(context.Context, *sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := bound(ctx, conn, 20*time.Millisecond); err != nil { // want `SET LOCAL.*transaction`
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, shelf)) }()
	return work(ctx, conn)
}

// unlock frees shelf whatever became of ctx. A connection that has not confirmed it may still hold
// the lock, so it does not go back to the pool.
func unlock(ctx context.Context, conn *sql.Conn, shelf int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, shelf).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, discard(conn))
}

// discard ends the session: database/sql drops a connection whose driver calls it bad.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) {
		return nil
	}
	return err
}

// unlockPgx is unlock for pgx: a closed connection is destroyed on its return to the pool.
func unlockPgx(ctx context.Context, conn *pgxpool.Conn, shelf int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, shelf).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, conn.Conn().Close(ctx))
}
