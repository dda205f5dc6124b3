package callerpool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// nestedPatience is how long one who holds a lock already waits for a connection of a pool that is in use
// to the last. Others give theirs back within moments, unless all of them wait for one like this.
const nestedPatience = time.Second

// Conn takes a connection for a lock, and pins it. Nested says that the caller holds another lock of the same
// Locker. The error is lock.ErrPoolExhausted, the cause of ctx's end, or database/sql's.
func Conn[S any](ctx context.Context, pool *Pool[sql.DB, S], nested bool) (conn *sql.Conn, unpin func(), err error) {
	db := pool.Value()
	most := db.Stats().MaxOpenConnections
	if unpin, err = pool.Pin(most); err != nil {
		return nil, nil, err
	}
	if nested && most > 0 {
		var stop func()
		ctx, stop = impatient(ctx, db, most)
		defer stop()
	}
	if conn, err = db.Conn(ctx); err != nil {
		unpin()
		if cause := context.Cause(ctx); errors.Is(cause, lock.ErrPoolExhausted) {
			err = cause
		}
		return nil, nil, err
	}
	return conn, unpin, nil
}

// impatient gives a context that ends when no connection came free in time. A connection that only takes
// long to open is waited for: it is opened when the pool is not full, and has its place in it.
func impatient(ctx context.Context, db *sql.DB, most int) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(nestedPatience, func() {
		if db.Stats().InUse >= most {
			cancel(fmt.Errorf("%w: none of %d came free in %v, while a lock is held", lock.ErrPoolExhausted, most, nestedPatience))
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
