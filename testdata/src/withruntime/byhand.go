package withruntime

import (
	"context"
	"database/sql"
	"errors"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/mysqllock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
)

// PrintByHand takes the lock with a statement of its own and lets the runtime release it, which needs no
// other context: a release runs to its end.
func PrintByHand(ctx context.Context, db *sql.DB, press int64, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, press); err != nil {
		return errors.Join(err, pglock.Unlock(ctx, conn, press))
	}
	defer func() { err = errors.Join(err, pglock.Unlock(ctx, conn, press)) }()
	return work()
}

// PrintIfFree does so with a lock that may be refused, in shared mode.
func PrintIfFree(ctx context.Context, db *sql.DB, press int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var ours bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock_shared($1)`, press).Scan(&ours); err != nil || !ours {
		return err
	}
	defer func() {
		if err := pglock.UnlockShared(ctx, conn, press); err != nil {
			log.Printf("press %d: %v", press, err)
		}
	}()
	return work()
}

// Press is one that is locked by one method and freed by another.
type Press struct {
	conn *sql.Conn
	id   int64
}

// Take locks the press.
func (p *Press) Take(ctx context.Context) error {
	_, err := p.conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, p.id)
	return err
}

// Leave frees it and gives its connection back.
func (p *Press) Leave(ctx context.Context) error {
	return errors.Join(pglock.Unlock(ctx, p.conn, p.id), p.conn.Close())
}

// PrintPgxByHand does so on a connection of pgx.
func PrintPgxByHand(ctx context.Context, pool *pgxpool.Pool, press int64, work func() error) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, press); err != nil {
		return errors.Join(err, pgxlock.Unlock(ctx, conn, press))
	}
	defer func() { err = errors.Join(err, pgxlock.Unlock(ctx, conn, press)) }()
	return work()
}

// PrintNamedByHand does so with a named lock of MySQL.
func PrintNamedByHand(ctx context.Context, db *sql.DB, press string, work func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var ours sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, press).Scan(&ours); err != nil {
		return err
	}
	if ours.Int64 != 1 {
		return errPrinting
	}
	defer func() { err = errors.Join(err, mysqllock.Release(ctx, conn, press)) }()
	return work()
}
