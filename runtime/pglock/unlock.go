package pglock

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Unlock releases a session-level lock that was taken with pg_advisory_lock(key), or its try form, on this
// same connection. It takes the place of a SELECT pg_advisory_unlock whose answer nobody looks at.
//
// The end of ctx does not stop it, since a lock that stays on a connection of the pool blocks everybody:
// it is bounded by 5 s instead. Nil says that the server released the lock. An error that wraps
// lock.ErrNotHeld says that this session did not hold it: it was taken on another connection, in shared
// mode, or in a transaction; the connection stays usable. Any other error wraps lock.ErrUnconfirmed: then
// the connection is closed, so that the server releases the lock, with whatever else conn was used for. Only
// when conn had been given back to the pool before (sql.ErrConnDone) is there nothing left to close.
//
// A lock that was taken n times needs n calls.
func Unlock(ctx context.Context, conn *sql.Conn, key int64) error {
	return unlock(ctx, conn, "unlock", `SELECT pg_advisory_unlock($1)`, key)
}

// UnlockShared is Unlock for a lock that was taken with pg_advisory_lock_shared(key).
func UnlockShared(ctx context.Context, conn *sql.Conn, key int64) error {
	return unlock(ctx, conn, "unlock shared", `SELECT pg_advisory_unlock_shared($1)`, key)
}

func unlock(ctx context.Context, held *sql.Conn, operation, query string, key int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lock.DefaultReleaseTimeout)
	defer cancel()
	c, err := below(held)
	var was bool
	if err == nil {
		err = c.queryRow(ctx, query, []any{key}, &was)
	}
	switch {
	case err != nil:
		c.hangUp()
		return fmt.Errorf("pglock: %s %d: %w: %w", operation, key, lock.ErrUnconfirmed, err)
	case !was:
		return fmt.Errorf("pglock: %s %d: %w", operation, key, lock.ErrNotHeld)
	}
	return nil
}
