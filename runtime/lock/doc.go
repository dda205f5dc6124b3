// Package lock is the shape that every distributed lock of this module has: a Key names what is
// locked, a Locker takes it on one server, a Handle is the lock while it is held.
//
//	locker, err := pglock.New(db) // or pgxlock, mysqllock, redislock
//	...
//	err = locker.Do(ctx, lock.NewKey("billing", "invoice", id), func(ctx context.Context) error {
//		return settle(ctx, id) // ctx ends, with ErrLost as its cause, when the lock is lost
//	})
//
// What holds for every backend:
//
//   - A caller's context bounds waiting only. A lock that is held outlives the context that it was
//     taken with, and its release is sent even when that context has ended: within ReleaseTimeout.
//   - An acquire that fails leaves nothing behind, whatever the moment at which it failed.
//   - A lock that is lost, or that can no longer be known to be held, ends its handle's context.
//   - A lock is not re-entrant: asking for it again while it is held in the same chain of calls is
//     ErrReentrant, not a grant and not a deadlock.
//   - In one process, those who wait for one key are served first-in first-out, and only the first
//     of them waits at the server.
//
// A lock tells callers apart, not what they wrote: a holder that stops for longer than its lease, or
// whose server lost the lock, may still have a write under way when the next holder begins. Where
// that must not happen, store what Token gives beside the data, and refuse a smaller one.
//
// The package needs the standard library only.
package lock
