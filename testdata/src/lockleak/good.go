package lockleak

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// DeferredUnlock unlocks on every path, since the unlock is deferred right after the lock.
func DeferredUnlock(ctx context.Context, db *sql.DB, job int64, step Step) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, job)) }()
	return step(ctx)
}

// HijackedAndClosed takes the connection out of its pool for good, and its end ends the lock.
func HijackedAndClosed(ctx context.Context, pool *pgxpool.Pool, job int64, step Step) error {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	var got bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, job).Scan(&got); err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return step(ctx)
}

// Discarded tells database/sql that the connection is bad, so that it does not go back to the pool.
func Discarded(ctx context.Context, db *sql.DB, job int64, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.Raw(func(any) error { return driver.ErrBadConn })
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil {
		return err
	}
	return step(ctx)
}

// TransactionLevel takes a lock that ends with its transaction.
func TransactionLevel(ctx context.Context, db *sql.DB, job int64, step Step) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, job); err != nil {
		return err
	}
	if err := step(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// TransactionLevelCallback is TransactionLevel with pgx's callback.
func TransactionLevelCallback(ctx context.Context, pool *pgxpool.Pool, job int64, step Step) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, job); err != nil {
			return err
		}
		return step(ctx)
	})
}

// RunTransactionLevel is TransactionLevel with gorm's callback.
func (j *Jobs) RunTransactionLevel(ctx context.Context, job int64, step Step) error {
	return j.gdb.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", job).Error; err != nil {
			return err
		}
		return step(ctx)
	})
}

// AroundTransaction holds the lock from before the transaction until after it, on one connection.
func AroundTransaction(ctx context.Context, db *sql.DB, job int64, step Step) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, job)) }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := step(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// Claim is a job that this instance may run. Its owner calls Release.
type Claim struct {
	conn *sql.Conn
	job  int64
}

// Take hands the lock to its caller, together with the way to free it.
func Take(ctx context.Context, db *sql.DB, job int64) (*Claim, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	got, err := claim(ctx, conn, job)
	if err == nil && !got {
		err = errBusy
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Claim{conn: conn, job: job}, nil
}

// Release frees the job and gives the connection back.
func (c *Claim) Release(ctx context.Context) error {
	unlockErr := unlock(ctx, c.conn, c.job)
	return errors.Join(unlockErr, c.conn.Close())
}

// Taken runs a step under a claim.
func Taken(ctx context.Context, db *sql.DB, job int64, step Step) error {
	c, err := Take(ctx, db, job)
	if err != nil {
		return err
	}
	workErr := step(ctx)
	return errors.Join(workErr, c.Release(ctx))
}

// EachUnlocked unlocks a job before it looks at how the step went.
func EachUnlocked(ctx context.Context, db *sql.DB, jobs []int64, step Step) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var failed []error
	for _, job := range jobs {
		if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil {
			return err
		}
		stepErr := step(ctx)
		if err := unlock(ctx, conn, job); err != nil {
			return errors.Join(stepErr, err)
		}
		failed = append(failed, stepErr)
	}
	return errors.Join(failed...)
}

// MySQLDeferred unlocks on every path.
func MySQLDeferred(ctx context.Context, db *sql.DB, name string, step Step) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errBusy
	}
	defer func() {
		var released sql.NullInt64
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr, errNotHeld)
		}
	}()
	return step(ctx)
}
