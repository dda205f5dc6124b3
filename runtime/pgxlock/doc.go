// Package pgxlock takes distributed locks on PostgreSQL through pgx: session-level advisory locks, exclusive
// and shared, in the way of package lock.
//
//	locker, err := pgxlock.FromPool(pool)
//	...
//	defer locker.Close()
//	err = locker.Do(ctx, lock.NewKey("billing", "invoice", id), func(ctx context.Context) error {
//		return settle(ctx, pool, id) // ctx ends when the lock is lost
//	})
//
// A lock has one server session for itself for as long as it is held, or waited for at the server. A Locker has a
// small pool of its own for them, so that locks can't take the connections that the work under them needs:
// New and FromPool. Do takes the connection from the caller's pool, which costs none of the server's but needs a
// pool that has one for each lock and more; it refuses a lock that would leave none for work.
//
// The lock is known to be lost when the server ends the session, within milliseconds, and when nothing is
// heard of the server, within Heartbeat and HeartbeatTimeout: 10 s unless said. Taking a lock is one round trip to
// the server and releasing it is another; a waiter's time is bounded by lock_timeout in the statement that
// waits, so that nothing of it stays in the session.
//
// The lock holds among sessions of one database of one server: not on a replica, and not across a fail-over to one.
// See Fencing for where that is not enough.
//
// A statement_timeout of the role, of the database or of the connection's parameters bounds a wait too, and gives
// lock.ErrTimeout. An idle_session_timeout must be longer than Heartbeat, or it ends what it finds idle.
package pgxlock
