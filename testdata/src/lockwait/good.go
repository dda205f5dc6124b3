package lockwait

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// patience is how long a job waits for its turn.
const patience = 100 * time.Millisecond

// BackupInTime bounds the wait with a deadline, and the wait alone: the job has the empty context.
func BackupInTime(db *sql.DB, job func(context.Context) error) (err error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	wait, cancel := context.WithTimeout(ctx, patience)
	_, err = conn.ExecContext(wait, `SELECT pg_advisory_lock($1)`, turn)
	cancel()
	if err != nil {
		// The grant and the deadline may have met: this session may hold the lock.
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(conn)) }()
	return job(ctx)
}

// RotateInTime lets the server bound the wait.
func RotateInTime(pool *pgxpool.Pool, job func(context.Context) error) error {
	ctx := context.Background()
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	const lock = `SELECT set_config('lock_timeout', '100ms', true), pg_advisory_xact_lock($1)`
	if _, err := tx.Exec(ctx, lock, turn); err != nil {
		return err
	}
	if err := job(ctx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// CompactInTime sets the bound for the transaction.
func CompactInTime(db *sql.DB, job func(context.Context) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`SET LOCAL lock_timeout = '100ms'`); err != nil {
		return err
	}
	if _, err := tx.Exec(`SELECT pg_advisory_xact_lock($1)`, turn); err != nil {
		return err
	}
	if err := job(context.Background()); err != nil {
		return err
	}
	return tx.Commit()
}

// ArchiveInTime gives gorm a context with a deadline.
func ArchiveInTime(db *gorm.DB, job func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, turn).Error; err != nil {
			return err
		}
		return job(ctx)
	})
}

// PurgeWithin leaves the bound to its caller.
func PurgeWithin(ctx context.Context, db *sql.DB, job func(context.Context) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := await(ctx, tx); err != nil {
		return err
	}
	if err := job(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// PruneInTime waits for one second, MySQL's unit.
func PruneInTime(db *sql.DB, job func(context.Context) error) (err error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK('nightly', 1)`).Scan(&got); err != nil {
		return errors.Join(err, discard(conn))
	}
	if got.Int64 != 1 {
		return ErrBusy
	}
	defer func() { err = errors.Join(err, releaseName(conn)) }()
	return job(ctx)
}
