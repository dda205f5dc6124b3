// Package poolstarve posts entries to ledgers; a ledger is locked while that lasts. In bad.go the work
// under the lock takes a second connection from the pool that the lock's own came from: with as many
// posters as connections, each has one, each needs another, and nobody gives one back.
package poolstarve

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

var (
	// ErrBusy says that a ledger's lock was not granted.
	ErrBusy    = errors.New("ledger is in use")
	errNotHeld = errors.New("ledger was not locked by this session")
)

const (
	post  = `INSERT INTO entries (ledger) VALUES ($1)`
	count = `SELECT count(*) FROM entries WHERE ledger = $1`
)

// Check looks at an entry before it is posted.
type Check func(ctx context.Context) error

// Post pins a connection for the lock and posts on another one.
func Post(ctx context.Context, db *sql.DB, ledger int64, check Check) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, ledger); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, post, ledger) // want `pool`
	return err
}

// Count does the same with pgx.
func Count(ctx context.Context, pool *pgxpool.Pool, ledger int64, check Check) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, ledger); err != nil {
		return errors.Join(err, conn.Conn().Close(ctx))
	}
	defer func() { err = errors.Join(err, unlockPgx(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	var n int
	return pool.QueryRow(ctx, count, ledger).Scan(&n) // want `pool`
}

// PostTx holds the ledger with a transaction, and posts beside it.
func PostTx(ctx context.Context, db *sql.DB, ledger int64, check Check) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, ledger); err != nil {
		return err
	}
	if err := check(ctx); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, post, ledger); err != nil { // want `pool`
		return err
	}
	return tx.Commit()
}

// PostGorm writes db where it means tx.
func PostGorm(ctx context.Context, db *gorm.DB, ledger int64, check Check) error {
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, ledger).Error; err != nil {
			return err
		}
		if err := check(ctx); err != nil {
			return err
		}
		return db.WithContext(ctx).Exec(`INSERT INTO entries (ledger) VALUES (?)`, ledger).Error // want `pool`
	})
}

// Books locks in one method and works in others.
type Books struct{ db *sql.DB }

// NewBooks returns the books in db.
func NewBooks(db *sql.DB) *Books { return &Books{db: db} }

// locked runs work while ledger is locked.
func (b *Books) locked(ctx context.Context, ledger int64, work func(context.Context) error) (err error) {
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, ledger); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, ledger)) }()
	return work(ctx)
}

// Close posts the last entry of a ledger; the closure does not see that a connection is taken already.
func (b *Books) Close(ctx context.Context, ledger int64, check Check) error {
	return b.locked(ctx, ledger, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		_, err := b.db.ExecContext(ctx, post, ledger) // want `pool`
		return err
	})
}

// PostNamed is Post on MariaDB and MySQL.
func PostNamed(ctx context.Context, db *sql.DB, ledger string, check Check) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 10)`, ledger).Scan(&got); err != nil {
		return errors.Join(err, discard(conn))
	}
	if got.Int64 != 1 {
		return ErrBusy
	}
	defer func() { err = errors.Join(err, releaseName(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO entries (ledger) VALUES (?)`, ledger) // want `pool`
	return err
}

// unlock frees ledger whatever became of ctx. A connection that has not confirmed it may still hold
// the lock, so it does not go back to the pool.
func unlock(ctx context.Context, conn *sql.Conn, ledger int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, ledger).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, discard(conn))
}

// unlockPgx is unlock for pgx: a closed connection is destroyed on its return to the pool.
func unlockPgx(ctx context.Context, conn *pgxpool.Conn, ledger int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, ledger).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, conn.Conn().Close(ctx))
}

// releaseName is unlock for MariaDB and MySQL.
func releaseName(ctx context.Context, conn *sql.Conn, ledger string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed sql.NullInt64
	err := conn.QueryRowContext(ctx, `SELECT RELEASE_LOCK(?)`, ledger).Scan(&freed)
	if err == nil && freed.Int64 == 1 {
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
