package poollock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
)

// ErrNotHeld says that the server did not have the lock that was to be released.
var ErrNotHeld = errors.New("lock was not held")

// unlockTimeout bounds the release, which outlives the work's own context.
const unlockTimeout = 5 * time.Second

// Pinned runs lock, work's end and unlock on one connection of the pool.
func Pinned(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return false, err
	}
	defer func() {
		released = unlockOrDiscard(ctx, conn, shelf)
		if !released {
			err = errors.Join(err, ErrNotHeld)
		}
	}()
	return false, rebuild(ctx, shelf)
}

// unlockOrDiscard keeps a connection whose lock is not known to be free from going back to its pool.
func unlockOrDiscard(ctx context.Context, conn *sql.Conn, shelf int64) (released bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, shelf).Scan(&released)
	if err != nil || !released {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return false
	}
	return true
}

// PinnedPgx takes a connection out of a pgx pool for as long as the lock.
func PinnedPgx(ctx context.Context, pool *pgxpool.Pool, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	var got bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, shelf).Scan(&got); err != nil || !got {
		return false, err
	}
	defer func() {
		unlockCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		row := conn.QueryRow(unlockCtx, `SELECT pg_advisory_unlock($1)`, shelf)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			// A closed connection does not go back to the pool.
			err = errors.Join(err, scanErr, ErrNotHeld, conn.Conn().Close(unlockCtx))
		}
	}()
	return false, rebuild(ctx, shelf)
}

// RebuildPinned uses gorm's pinned connection.
func (c *Catalog) RebuildPinned(ctx context.Context, shelf int64, rebuild Rebuild) (released bool, err error) {
	err = c.gdb.WithContext(ctx).Connection(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_lock(?)", shelf).Error; err != nil {
			return err
		}
		workErr := rebuild(ctx, shelf)
		free := tx.WithContext(context.WithoutCancel(ctx))
		freeErr := free.Raw("SELECT pg_advisory_unlock(?)", shelf).Scan(&released).Error
		if freeErr == nil && !released {
			freeErr = ErrNotHeld
		}
		return errors.Join(workErr, freeErr)
	})
	return released, err
}

// PinnedSqlx takes one connection of the pool.
func PinnedSqlx(ctx context.Context, db *sqlx.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var got bool
	if err := conn.GetContext(ctx, &got, `SELECT pg_try_advisory_lock($1)`, shelf); err != nil || !got {
		return false, err
	}
	workErr := rebuild(ctx, shelf)
	freeErr := conn.GetContext(context.WithoutCancel(ctx), &released, `SELECT pg_advisory_unlock($1)`, shelf)
	if freeErr == nil && !released {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}

// PinnedBun takes one connection of the pool.
func PinnedBun(ctx context.Context, db *bun.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if _, err := conn.NewRaw("SELECT pg_advisory_lock(?)", shelf).Exec(ctx); err != nil {
		return false, err
	}
	workErr := rebuild(ctx, shelf)
	freeErr := conn.NewRaw("SELECT pg_advisory_unlock(?)", shelf).Scan(context.WithoutCancel(ctx), &released)
	if freeErr == nil && !released {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}

// Capped opens a pool of one connection, which is therefore the same connection for each statement.
// The work must not use this pool: it would wait for the connection for ever.
func Capped(ctx context.Context, dsn string, shelf int64, rebuild Rebuild) (released bool, err error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return false, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return false, err
	}
	workErr := rebuild(ctx, shelf)
	freeErr := db.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, shelf).Scan(&released)
	if freeErr == nil && !released {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}

// InTransaction needs no unlock and no pinning: a transaction has one connection, and the lock ends
// with it.
func InTransaction(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, shelf); err != nil {
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// HelpersPinned gives the helpers a pinned connection.
func HelpersPinned(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	got, err := tryShelf(ctx, conn, shelf)
	if err != nil || !got {
		return false, err
	}
	workErr := rebuild(ctx, shelf)
	released, freeErr := freeShelf(context.WithoutCancel(ctx), conn, shelf)
	if freeErr == nil && !released {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}

// QueriesPinned makes the queries of a pinned connection.
func QueriesPinned(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	q := New(conn)
	got, err := q.TryLockShelf(ctx, shelf)
	if err != nil || !got {
		return false, err
	}
	workErr := rebuild(ctx, shelf)
	released, freeErr := q.UnlockShelf(context.WithoutCancel(ctx), shelf)
	if freeErr == nil && !released {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}

// PinnedMySQL takes a named lock on one connection.
func PinnedMySQL(ctx context.Context, db *sql.DB, name string, rebuild Rebuild) (released sql.NullInt64, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return released, err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil {
		return released, err
	}
	if got.Int64 != 1 {
		return released, nil
	}
	workErr := rebuild(ctx, 0)
	freeErr := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name).Scan(&released)
	if freeErr == nil && released.Int64 != 1 {
		freeErr = ErrNotHeld
	}
	return released, errors.Join(workErr, freeErr)
}
