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

const unlockTimeout = 5 * time.Second

// releaseDetached runs whatever became of ctx, and no longer than unlockTimeout.
func releaseDetached(ctx context.Context, conn rower, shard int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	return release(ctx, conn, shard)
}

// PooledDetached makes the release's context in the cleanup.
func PooledDetached(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer func() {
		unlockCtx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
		defer cancel()
		var released bool
		row := conn.QueryRow(unlockCtx, `SELECT pg_advisory_unlock($1)`, shard)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr, ErrNotHeld)
		}
	}()
	return work(ctx)
}

// GroupedDetached gives the context to a helper that detaches it.
func GroupedDetached(ctx context.Context, pool *pgxpool.Pool, shard int64, work Import) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	group, groupCtx := errgroup.WithContext(ctx)
	if _, err := conn.Exec(groupCtx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, releaseDetached(groupCtx, conn, shard)) }()
	group.Go(func() error { return work(groupCtx) })
	return group.Wait()
}

// ClaimDetached returns an unlock function with a context of its own.
func ClaimDetached(ctx context.Context, conn *pgxpool.Conn, shard int64) (unlock func() error, err error) {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return nil, err
	}
	return func() error { return releaseDetached(ctx, conn, shard) }, nil
}

// FollowDetached unlocks with a context that the end of ctx does not reach.
func FollowDetached(ctx context.Context, conn *pgx.Conn, shard int64, started func()) error {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, shard); err != nil {
		return err
	}
	started()
	<-ctx.Done()
	return release(context.WithoutCancel(ctx), conn, shard)
}

// HoldForTestDetached outlives the test's context.
func HoldForTestDetached(tb testing.TB, conn *pgxpool.Conn, shard int64) {
	tb.Helper()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_lock($1)`, shard); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := release(context.Background(), conn, shard); err != nil {
			tb.Error(err)
		}
	})
}

// PinnedDetached is right for each driver.
func PinnedDetached(ctx context.Context, db *sql.DB, shard int64, work Import) (err error) {
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
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, shard)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr, ErrNotHeld)
		}
	}()
	return work(ctx)
}

// PinnedMySQLDetached is PinnedDetached with a named lock.
func PinnedMySQLDetached(ctx context.Context, db *sql.DB, name string, work Import) (err error) {
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
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr, ErrNotHeld)
		}
	}()
	return work(ctx)
}
