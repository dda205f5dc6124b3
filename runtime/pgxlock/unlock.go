package pgxlock

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Connection is one server session. A pool is none: it would unlock on whichever.
type Connection interface{ *pgx.Conn | *pgxpool.Conn }

// Unlock releases a session-level lock that was taken with pg_advisory_lock(key), or its try form, on this
// same connection. It takes the place of a SELECT pg_advisory_unlock whose answer nobody looks at.
//
// The end of ctx does not stop it, since a lock that stays on a connection of the pool blocks everybody:
// it is bounded by 5 s instead. Nil says that the server released the lock. An error that wraps
// lock.ErrNotHeld says that this session did not hold it: it was taken on another connection, in shared
// mode, or in a transaction; the connection stays usable. Any other error wraps lock.ErrUnconfirmed: then
// the connection is closed, so that the server releases the lock, with whatever else conn was used for. A
// *pgxpool.Conn must not have been released yet, and is to be released afterwards in every case.
//
// A lock that was taken n times needs n calls.
func Unlock[C Connection](ctx context.Context, conn C, key int64) error {
	return unlock(ctx, below(conn), "unlock", `SELECT pg_advisory_unlock($1)`, key)
}

// UnlockShared is Unlock for a lock that was taken with pg_advisory_lock_shared(key).
func UnlockShared[C Connection](ctx context.Context, conn C, key int64) error {
	return unlock(ctx, below(conn), "unlock shared", `SELECT pg_advisory_unlock_shared($1)`, key)
}

// below is the connection under a pool's.
func below[C Connection](conn C) *pgx.Conn {
	switch c := any(conn).(type) {
	case *pgxpool.Conn:
		return c.Conn()
	case *pgx.Conn:
		return c
	}
	panic("not reached")
}

func unlock(ctx context.Context, conn *pgx.Conn, operation, query string, key int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lock.DefaultReleaseTimeout)
	defer cancel()
	var was bool
	switch err := conn.QueryRow(ctx, query, key).Scan(&was); {
	case err != nil:
		ended, cancel := context.WithCancel(context.Background())
		cancel() // close without waiting for the network
		_ = conn.PgConn().Close(ended)
		return fmt.Errorf("pgxlock: %s %d: %w: %w", operation, key, lock.ErrUnconfirmed, err)
	case !was:
		return fmt.Errorf("pgxlock: %s %d: %w", operation, key, lock.ErrNotHeld)
	}
	return nil
}
