// Package lockwait is a machine's nightly jobs, which must not run side by side. In bad.go a job waits
// for its turn with nothing that ends the wait: a job before it that hangs makes all later ones hang,
// and each of them keeps a connection.
package lockwait

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// turn is the key of the lock that all jobs share.
const turn = 2359

var errNotHeld = errors.New("the turn was not held by this session")

// Backup waits with the empty context.
func Backup(db *sql.DB, job func(context.Context) error) (err error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, turn); err != nil { // want `pg_advisory_lock`
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(conn)) }()
	return job(ctx)
}

// Rotate waits with a context that can be cancelled, by a function that has not begun to wait yet.
func Rotate(pool *pgxpool.Pool, job func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, turn); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	if err := job(ctx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Compact uses the calls without a context.
func Compact(db *sql.DB, job func(context.Context) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`SELECT pg_advisory_xact_lock($1)`, turn); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	if err := job(context.Background()); err != nil {
		return err
	}
	return tx.Commit()
}

// Archive is a job of a program that keeps its books with gorm.
func Archive(db *gorm.DB, job func(context.Context) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, turn).Error; err != nil { // want `pg_advisory_xact_lock`
			return err
		}
		return job(context.Background())
	})
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// await waits as long as its caller's context lets it.
func await(ctx context.Context, e execer) error {
	_, err := e.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, turn)
	return err
}

// Purge gives the helper a context without an end.
func Purge(db *sql.DB, job func(context.Context) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := await(context.TODO(), tx); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	if err := job(context.TODO()); err != nil {
		return err
	}
	return tx.Commit()
}

// ErrBusy says that the lock was not granted.
var ErrBusy = errors.New("another job has the turn")

// Prune asks MySQL to wait for ever. MariaDB takes no negative timeout and answers NULL at once.
func Prune(db *sql.DB, job func(context.Context) error) (err error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK('nightly', -1)`).Scan(&got); err != nil { // want `(?i)get_lock`
		return errors.Join(err, discard(conn))
	}
	if got.Int64 != 1 {
		return ErrBusy
	}
	defer func() { err = errors.Join(err, releaseName(conn)) }()
	return job(ctx)
}

// unlock frees the turn with a context of its own. A connection that has not confirmed it may still
// hold the lock, so it does not go back to the pool.
func unlock(conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, turn).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, discard(conn))
}

// releaseName is unlock for MySQL and MariaDB.
func releaseName(conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var freed sql.NullInt64
	err := conn.QueryRowContext(ctx, `SELECT RELEASE_LOCK('nightly')`).Scan(&freed)
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
