// Package pglock takes distributed locks on PostgreSQL through database/sql: session-level advisory
// locks, each on a connection that the lock has for itself, and transaction-level ones.
//
//	locker, err := pglock.New(db)
//	...
//	err = locker.Do(ctx, lock.NewKey("billing", "invoice", id), func(ctx context.Context) error {
//		return settle(ctx, id) // on other connections of db
//	})
//
// Any driver will do that speaks of parameters as $1. With pgx's stdlib the end of the session is noticed at
// once, by reading from the connection; other drivers, lib/pq for one, can't do that, and are asked every
// PollInterval.
//
// In a silent network calls end with their bounds. When a statement has to be given up, Acquire and Release
// take up to 0.25 s more: the driver has that long to have the server give it up too, before the connection
// is closed. Set connect_timeout with lib/pq: without it a connection that lib/pq was opening when the network fell
// silent keeps a goroutine, and its place in the pool, for as long as the silence lasts. Acquire and Close do
// not wait for it.
//
// A lock has one connection of the pool for as long as it is held or waited for at the server. The work
// under it needs others, so that with SetMaxOpenConns locks are refused with lock.ErrPoolExhausted when
// none would be left.
//
// DoTx is for work that is one transaction: its lock costs no connection more than the work, and goes
// through poolers of every kind. Unlock and UnlockShared are for code that calls pg_advisory_lock itself.
// Holders, Waiters and LeakSuspects show what pg_locks has.
package pglock
