// Package lockmismatch maintains the parts of a search index. Readers share a part, a writer has it
// alone.
package lockmismatch

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Work runs under the lock.
type Work func(ctx context.Context) error

// Keys of the index's own tasks, beside the parts.
const (
	mergeKey = 6001
	pruneKey = 6002
)

// SharedAsExclusive frees a shared lock with the exclusive lock's function.
func SharedAsExclusive(ctx context.Context, conn *sql.Conn, part int64, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock_shared($1)`, part); err != nil {
		return false, err
	}
	defer func() {
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, part) // want `pg_advisory_unlock.* does not match pg_advisory_lock_shared`
		err = errors.Join(err, row.Scan(&released))
	}()
	return false, work(ctx)
}

// ExclusiveAsShared is the other way round.
func ExclusiveAsShared(ctx context.Context, pool *pgxpool.Pool, part int64, work Work) (released bool, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock_shared($1)`, part) // want `pg_advisory_unlock_shared.* does not match pg_advisory_lock`
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// OneKeyAsTwo takes two keys for the halves of one: to the server they are different locks.
func OneKeyAsTwo(ctx context.Context, conn *sql.Conn, index, part int32, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(index)<<32|int64(part)); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1, $2)`, index, part) // want `pg_advisory_unlock.* does not match pg_advisory_lock`
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// OtherKey takes one task's lock and frees another's.
func OtherKey(ctx context.Context, conn *sql.Conn, work Work) (released bool, err error) {
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, mergeKey); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, pruneKey) // want `pg_advisory_unlock.* does not match pg_advisory_lock`
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// SwappedKeys writes the two keys of a lock in two orders.
func SwappedKeys(ctx context.Context, conn *pgx.Conn, work Work) (released bool, err error) {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(8, 15)`); err != nil {
		return false, err
	}
	workErr := work(ctx)
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(15, 8)`) // want `pg_advisory_unlock.* does not match pg_advisory_lock`
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}

// TransactionLevel frees by hand what only the end of the transaction frees.
func TransactionLevel(ctx context.Context, db *sql.DB, part int64, work, afterUnlock Work) (released bool, err error) {
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
	row := tx.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, part) // want `pg_advisory_unlock.* does not match pg_advisory_xact_lock`
	if err := row.Scan(&released); err != nil {
		return false, err
	}
	return released, errors.Join(afterUnlock(ctx), tx.Commit())
}

// share and unlock are each right; together they are not.
func share(ctx context.Context, conn *sql.Conn, part int64) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock_shared($1)`, part)
	return err
}

func unlock(ctx context.Context, conn *sql.Conn, part int64) (released bool, err error) {
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, part)
	err = row.Scan(&released)
	return released, err
}

// ThroughHelpers pairs the wrong two helpers.
func ThroughHelpers(ctx context.Context, conn *sql.Conn, part int64, work Work) (released bool, err error) {
	if err := share(ctx, conn, part); err != nil {
		return false, err
	}
	workErr := work(ctx)
	released, err = unlock(ctx, conn, part) // want `pg_advisory_unlock.* does not match pg_advisory_lock_shared`
	return released, errors.Join(workErr, err)
}

// MySQL spells the name in two ways.
func MySQL(ctx context.Context, conn *sql.Conn, work Work) (released sql.NullInt64, err error) {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK('index.merge', 5)`).Scan(&got); err != nil {
		return released, err
	}
	if got.Int64 != 1 {
		return released, errors.New("index is being merged elsewhere")
	}
	workErr := work(ctx)
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK('index-merge')`) // want `(?i)release_lock.* does not match get_lock`
	err = row.Scan(&released)
	return released, errors.Join(workErr, err)
}
