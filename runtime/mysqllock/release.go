package mysqllock

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Release frees a lock that the program took itself with GET_LOCK on conn, and does not let a release
// that did nothing pass for one: it is sent although ctx has ended, of which only the values count, and
// is given 5 seconds. Each GET_LOCK of a name that succeeded needs a Release of its own.
//
// Nil says that RELEASE_LOCK answered 1. The error wraps lock.ErrNotHeld when the server says that another
// connection holds the lock (0), or that none does (NULL). It wraps lock.ErrUnconfirmed, and the driver's
// error, when there was no such answer; then conn is closed, and with it every lock on it freed.
func Release(ctx context.Context, conn *sql.Conn, name string) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lock.DefaultReleaseTimeout, errSilent)
	defer cancel()
	var answer sql.NullInt64
	// A parameter, so that the driver makes the same name of it as for the program's GET_LOCK(?).
	err := conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", name).Scan(&answer)
	switch {
	case ctx.Err() != nil:
		err = ended(ctx, lock.DefaultReleaseTimeout, err)
		fallthrough
	case err != nil:
		discard(conn)
		return fmt.Errorf("mysql: release %q: %w: %w", name, lock.ErrUnconfirmed, err)
	case answer.Int64 != 1:
		return fmt.Errorf("mysql: release: %w", notHeld(name, answer))
	}
	return nil
}
