// Package unlockctx imports the shards of a feed until it is told to stop.
package unlockctx

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// ErrNotHeld says that the server did not have the lock that was to be released; ErrBusy that
// another session has it.
var (
	ErrNotHeld = errors.New("shard was not locked")
	ErrBusy    = errors.New("shard is being imported elsewhere")
)

// Import is the work under the lock. Its error is often ctx's.
type Import func(ctx context.Context) error

// rower is what a release needs of pgx's connections.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// release runs with whatever context its caller gives it.
func release(ctx context.Context, conn rower, shard int64) error {
	var released bool
	err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, shard).Scan(&released)
	if err == nil && !released {
		err = ErrNotHeld
	}
	return err
}

// Pooled unlocks in a deferred closure with the caller's context.
func Pooled(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer func() {
		var released bool
		row := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, shard) // want `pg_advisory_unlock .*\bctx\b`
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr)
		}
	}()
	return work(ctx)
}

// PooledHelper passes the context to a helper as the call is deferred.
func PooledHelper(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer release(ctx, conn, shard) // want `pg_advisory_unlock .*\bctx\b`
	return work(ctx)
}

// Bounded cancels its own context before it unlocks, each time: defers run in reverse.
func Bounded(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	workCtx, cancel := context.WithTimeout(ctx, time.Minute)
	if _, err := conn.Exec(workCtx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		cancel()
		return err
	}
	defer func() {
		_ = release(workCtx, conn, shard) // want `pg_advisory_unlock .*\bworkCtx\b`
	}()
	defer cancel()
	return work(workCtx)
}

// Grouped unlocks with the group's context, which Wait has always cancelled by then.
func Grouped(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	group, groupCtx := errgroup.WithContext(ctx)
	if _, err := conn.Exec(groupCtx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer func() {
		_ = release(groupCtx, conn, shard) // want `pg_advisory_unlock .*\bgroupCtx\b`
	}()
	group.Go(func() error { return work(groupCtx) })
	return group.Wait()
}

// Claim returns an unlock function that keeps the context of the claim.
func Claim(ctx context.Context, conn *pgxpool.Conn, shard int64) (unlock func() error, err error) {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return nil, err
	}
	return func() error {
		var released bool
		err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, shard).Scan(&released) // want `pg_advisory_unlock .*\bctx\b`
		if err == nil && !released {
			err = ErrNotHeld
		}
		return err
	}, nil
}

// Follow imports until ctx is done, and then unlocks with that same ctx.
func Follow(ctx context.Context, conn *pgx.Conn, shard int64, started func()) error {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	started()
	<-ctx.Done()
	var released bool
	err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, shard).Scan(&released) // want `pg_advisory_unlock .*\bctx\b`
	if err == nil && !released {
		err = ErrNotHeld
	}
	return err
}

// HoldForTest locks a shard for the length of a test. The test's context is cancelled just before
// its cleanups run.
func HoldForTest(tb testing.TB, conn *pgxpool.Conn, shard int64) {
	tb.Helper()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_lock($1)`, shard); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = release(tb.Context(), conn, shard) // want `pg_advisory_unlock runs in a cleanup`
	})
}

// Pinned uses database/sql. What a cancelled context does to the connection is its driver's choice.
func Pinned(ctx context.Context, db *sql.DB, shard int64, work Import) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer func() {
		var released bool
		row := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, shard) // want `pg_advisory_unlock .*\bctx\b`
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr)
		}
	}()
	return work(ctx)
}

// PinnedMySQL is Pinned with a named lock.
func PinnedMySQL(ctx context.Context, db *sql.DB, name string, work Import) (err error) {
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
		return ErrBusy
	}
	defer func() {
		var released sql.NullInt64
		row := conn.QueryRowContext(ctx, `SELECT RELEASE_LOCK(?)`, name) // want `(?i)release_lock .*\bctx\b`
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr)
		}
	}()
	return work(ctx)
}
