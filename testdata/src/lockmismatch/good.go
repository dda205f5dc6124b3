package lockmismatch

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Shared frees a shared lock as such.
func Shared(ctx context.Context, conn *sql.Conn, part int64, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock_shared($1)`, part); err != nil {
		return false, err
	}
	defer func() {
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock_shared($1)`, part)
		err = errors.Join(err, row.Scan(&released))
	}()
	return false, work(ctx)
}

// Exclusive frees an exclusive lock as such.
func Exclusive(ctx context.Context, pool *pgxpool.Pool, part int64, work Work) (released bool, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, part)
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// Both holds a part shared and then exclusively; its own shared lock does not stand in its way. The
// two are freed in the other order.
func Both(ctx context.Context, conn *sql.Conn, part int64, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock_shared($1)`, part); err != nil {
		return false, err
	}
	defer func() {
		var sharedReleased bool
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock_shared($1)`, part)
		err = errors.Join(err, row.Scan(&sharedReleased))
		released = released && sharedReleased
	}()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, part)
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// TwoKeys uses the two-key form for both.
func TwoKeys(ctx context.Context, conn *sql.Conn, index, part int32, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1, $2)`, index, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1, $2)`, index, part)
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// SameKey frees the key that it took, whichever of the two it is.
func SameKey(ctx context.Context, conn *sql.Conn, prune bool, work Work) (released bool, err error) {
	key := int64(mergeKey)
	if prune {
		key = pruneKey
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, key); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, key)
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// Crossed holds two locks at once, and frees the older one first.
func Crossed(ctx context.Context, conn *pgx.Conn, work Work) (released bool, err error) {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(8, 15)`); err != nil {
		return false, err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(15, 8)`); err != nil {
		return false, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	workErr := work(ctx)
	free := context.WithoutCancel(ctx)
	var first, second bool
	firstErr := conn.QueryRow(free, `SELECT pg_advisory_unlock(8, 15)`).Scan(&first)
	secondErr := conn.QueryRow(free, `SELECT pg_advisory_unlock(15, 8)`).Scan(&second)
	return first && second, errors.Join(workErr, firstErr, secondErr)
}

// TransactionEnd leaves the release to the end of the transaction.
func TransactionEnd(ctx context.Context, db *sql.DB, part int64, work Work) (released bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, part); err != nil {
		return false, err
	}
	if err := work(ctx); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// HelpersPaired pairs share with its own release.
func HelpersPaired(ctx context.Context, conn *sql.Conn, part int64, work Work) (released bool, err error) {
	if err := share(ctx, conn, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	released, err = unshare(ctx, conn, part)
	return released, errors.Join(workErr, err)
}

func unshare(ctx context.Context, conn *sql.Conn, part int64) (released bool, err error) {
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock_shared($1)`, part)
	err = row.Scan(&released)
	return released, err
}

// MySQLSameName has one name for both.
func MySQLSameName(ctx context.Context, conn *sql.Conn, work Work) (released sql.NullInt64, err error) {
	const name = "index.prune"
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil {
		return released, err
	}
	if got.Int64 != 1 {
		return released, errors.New("index is being pruned elsewhere")
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}
