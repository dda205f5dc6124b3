// Package withruntime runs a print shop whose presses are locked through the runtime, in each of the ways
// that it offers. All of it is right, and the rules say nothing.
package withruntime

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
)

// Print holds the press's lock around the work.
func Print(ctx context.Context, db *sql.DB, press string, work func(context.Context) error) error {
	return pglock.Do(ctx, db, lock.NewKey("printshop", press), work)
}

// PrintTx has the lock for as long as the transaction.
func PrintTx(ctx context.Context, db *sql.DB, press string, sheets int) error {
	return pglock.DoTx(ctx, db, lock.NewKey("printshop", press), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE presses SET sheets = sheets + $2 WHERE name = $1`, press, sheets)
		return err
	})
}

// PrintHandle takes the lock and gives it back by itself.
func PrintHandle(ctx context.Context, db *sql.DB, press string, work func(context.Context) error) (err error) {
	locker, err := pglock.New(db, pglock.Defaults(lock.ReleaseTimeout(2*lock.DefaultReleaseTimeout)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close()) }()
	handle, err := locker.Acquire(ctx, lock.NewKey("printshop", press), lock.Try())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Release(ctx)) }()
	return work(handle.Context())
}

// PrintPgx does so with pgx, on connections of the locks' own.
func PrintPgx(ctx context.Context, pool *pgxpool.Pool, press string, work func(context.Context) error) (err error) {
	locker, err := pgxlock.FromPool(pool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close()) }()
	return locker.Do(ctx, lock.NewKey("printshop", press), work)
}
