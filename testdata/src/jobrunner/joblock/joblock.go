// Package joblock gives each job name an advisory lock, so that one instance of the runner at a time
// has the job.
package joblock

import (
	"context"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Querier is a pool, a connection or a transaction of pgx.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Key is the lock's key: 64 bits of the job's name.
func Key(job string) int64 {
	h := fnv.New64a()
	h.Write([]byte(job))
	return int64(h.Sum64())
}

// TryLock reports whether this session now has the job.
func TryLock(ctx context.Context, q Querier, job string) (bool, error) {
	var got bool
	err := q.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, Key(job)).Scan(&got)
	return got, err
}

// Unlock gives the job back.
func Unlock(ctx context.Context, q Querier, job string) error {
	_, err := q.Exec(ctx, `SELECT pg_advisory_unlock($1)`, Key(job))
	return err
}
