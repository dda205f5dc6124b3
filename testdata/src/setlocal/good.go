package setlocal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// ReindexBounded sets the timeout in the statement that locks. It ends with that statement, so there
// is nothing to reset.
func ReindexBounded(ctx context.Context, db *sql.DB, shelf int64, work func(context.Context, *sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	const lock = `SELECT set_config('lock_timeout', $1, true), pg_advisory_lock($2)`
	if _, err := conn.ExecContext(ctx, lock, "20ms", shelf); err != nil {
		// The grant and the timeout may have met: this session may hold the lock.
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, shelf)) }()
	return work(ctx, conn)
}

// InventoryBounded sets the timeout for the session and takes it back before the connection is
// anybody else's.
func InventoryBounded(ctx context.Context, pool *pgxpool.Pool, shelf int64, work func(context.Context, *pgxpool.Conn) error) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SET lock_timeout = '20ms'`); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil {
		return errors.Join(err, conn.Conn().Close(ctx))
	}
	defer func() { err = errors.Join(err, unlockPgx(ctx, conn, shelf)) }()
	if _, err := conn.Exec(ctx, `RESET lock_timeout`); err != nil {
		return err
	}
	return work(ctx, conn)
}

// RelabelBounded sets the timeout on the transaction that it is for.
func RelabelBounded(ctx context.Context, db *sql.DB, shelf int64, work func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := bound(ctx, tx, 20*time.Millisecond); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, shelf); err != nil {
		return err
	}
	if err := work(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// MergeBounded is RelabelBounded with gorm.
func (c *Catalogue) MergeBounded(ctx context.Context, shelf int64, work func(*gorm.DB) error) error {
	return c.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SET LOCAL lock_timeout = 20`).Error; err != nil {
			return err
		}
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, shelf).Error; err != nil {
			return err
		}
		return work(tx)
	})
}

// Sweep sends one string that opens the transaction itself.
func Sweep(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `BEGIN;
		SET LOCAL lock_timeout = '20ms';
		SELECT pg_advisory_xact_lock(620);
		UPDATE shelves SET swept = now();
		COMMIT`)
	return err
}
