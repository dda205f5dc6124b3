package withruntime

import (
	"context"
	"database/sql"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/pglock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
)

// The releases in this file, and in the one that has no imports, are still by hand and wrong.

// take locks, and frees what a failed lock may have left.
func take(ctx context.Context, conn *sql.Conn, press int64) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, press)
	if err != nil && pglock.Unlock(ctx, conn, press) == nil {
		log.Printf("press %d was locked all the same", press)
	}
	return err
}

// Proof drops the answer of the unlock.
func Proof(ctx context.Context, db *sql.DB, press int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := take(ctx, conn, press); err != nil {
		return err
	}
	failed := work()
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, press); err != nil { // want `answer of pg_advisory_unlock`
		return err
	}
	return failed
}

// Bind drops it in a defer, with a context that may be over by then: two mistakes, one fix.
func Bind(ctx context.Context, db *sql.DB, press int64, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := take(ctx, conn, press); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, press) // want `answer of pg_advisory_unlock`
	return work()
}

// Fold does so on a connection of pgx, with a key that is not 64 bits wide.
func Fold(ctx context.Context, pool *pgxpool.Pool, press int32, work func() error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock_shared($1)`, press); err != nil {
		if pgxlock.UnlockShared(ctx, conn, int64(press)) == nil {
			log.Printf("press %d was locked all the same", press)
		}
		return err
	}
	failed := work()
	var freed bool
	if err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock_shared($1)`, press).Scan(&freed); err != nil { // want `answer of pg_advisory_unlock_shared`
		return err
	}
	return failed
}

// A Hold is a press with the connection that has its lock.
type Hold struct {
	ctx   context.Context
	conn  *sql.Conn
	press int64
}
