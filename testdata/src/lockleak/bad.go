// Package lockleak runs the nightly jobs of a bank, each by one instance of the program at a time.
package lockleak

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

var (
	errNotHeld = errors.New("job was not locked")
	errBusy    = errors.New("job runs elsewhere")
)

// Step is a part of a job.
type Step func(ctx context.Context) error

// unlock takes false for an error.
func unlock(ctx context.Context, conn *sql.Conn, job int64) error {
	var released bool
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, job)
	err := row.Scan(&released)
	if err == nil && !released {
		err = errNotHeld
	}
	return err
}

// EarlyReturn unlocks only when the step went well.
func EarlyReturn(ctx context.Context, db *sql.DB, job int64, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil { // want `pg_advisory_lock .*no unlock`
		return err
	}
	if err := step(ctx); err != nil {
		return err
	}
	return unlock(ctx, conn, job)
}

// NeverUnlocked trusts the end of the connection, which does not come: it goes back to its pool.
func NeverUnlocked(ctx context.Context, pool *pgxpool.Pool, job int64, step Step) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var got bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, job).Scan(&got); err != nil { // want `pg_try_advisory_lock .*no unlock`
		return err
	}
	if !got {
		return errBusy
	}
	return step(ctx)
}

// InTransaction takes a session-level lock for a transaction-level one.
func InTransaction(ctx context.Context, db *sql.DB, job int64, step Step) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil { // want `pg_advisory_lock .*no unlock`
		return err
	}
	if err := step(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// InCallback is InTransaction with pgx's callback.
func InCallback(ctx context.Context, pool *pgxpool.Pool, job int64, step Step) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil { // want `pg_advisory_lock .*no unlock`
			return err
		}
		return step(ctx)
	})
}

// Jobs keeps its jobs in a database that it reaches through gorm.
type Jobs struct{ gdb *gorm.DB }

// NewJobs uses the connections of db.
func NewJobs(db *sql.DB) (*Jobs, error) {
	gdb, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{})
	return &Jobs{gdb: gdb}, err
}

// Run is InTransaction with gorm's callback.
func (j *Jobs) Run(ctx context.Context, job int64, step Step) error {
	return j.gdb.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_lock(?)", job).Error; err != nil { // want `pg_advisory_lock .*no unlock`
			return err
		}
		return step(ctx)
	})
}

// claim leaves the lock to its caller.
func claim(ctx context.Context, conn *sql.Conn, job int64) (got bool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, job).Scan(&got)
	return got, err
}

// Claimed forgets the lock of the helper when the job is not due.
func Claimed(ctx context.Context, db *sql.DB, job int64, due bool, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	got, err := claim(ctx, conn, job) // want `pg_try_advisory_lock .*no unlock`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	if !due {
		return nil
	}
	workErr := step(ctx)
	return errors.Join(workErr, unlock(ctx, conn, job))
}

// Each keeps one connection for many jobs and goes on to the next job when a step fails.
func Each(ctx context.Context, db *sql.DB, jobs []int64, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, job := range jobs {
		if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil { // want `pg_advisory_lock .*no unlock`
			return err
		}
		if step(ctx) != nil {
			continue
		}
		if err := unlock(ctx, conn, job); err != nil {
			return err
		}
	}
	return nil
}

// MySQL unlocks only when the step went well.
func MySQL(ctx context.Context, db *sql.DB, name string, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil { // want `(?i)get_lock .*no unlock`
		return err
	}
	if got.Int64 != 1 {
		return errBusy
	}
	if err := step(ctx); err != nil {
		return err
	}
	var released sql.NullInt64
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
	if err := row.Scan(&released); err != nil {
		return err
	}
	if released.Int64 != 1 {
		return errNotHeld
	}
	return nil
}
