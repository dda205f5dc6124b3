// Package otellock makes OpenTelemetry metrics and spans of what happens to locks. It is a module of
// its own, so that programs without OpenTelemetry do not depend on it.
//
//	observer, err := otellock.New()
//	...
//	locker, err := redislock.New(client, redislock.Defaults(lock.WithObserver(observer)))
//
// # Metrics
//
//	name                      kind             unit         attributes
//	lock.acquire.duration     histogram        s            backend, mode, outcome, error.type
//	lock.contended_acquires   counter          {acquire}    backend, mode, reason
//	lock.held                 up-down counter  {lock}       backend, mode
//	lock.hold.duration        histogram        s            backend, mode, end
//	lock.losses               counter          {lock}       backend, mode
//	lock.renewals             counter          {renewal}    backend, outcome
//	lock.renewal.duration     histogram        s            backend, outcome
//	lock.unconfirmed_releases counter          {release}    backend, mode
//
// A lock of several keys counts once. The duration of an acquire has all of its waiting in it: for the
// turn in this process, for a connection, for the server.
//
// # Attributes of metrics
//
//	key                     values
//	lock.backend            lock.Event.Backend: postgresql, mysql, redis
//	lock.mode               exclusive, shared
//	lock.outcome            of an acquire: acquired; busy: someone else held the lock and the caller
//	                        did not wait; timeout; error. Of a renewal: renewed, error
//	error.type              of the outcome error: canceled, closed, deadlock, lock_table_full, pooler,
//	                        pool_exhausted, lost, unsupported, or _OTHER: see the span
//	lock.contention.reason  queued: others of this process were before it; busy and timeout, as above;
//	                        slow: it took longer than SlowAfter, most likely for another process
//	lock.end                released; lost: the holder was told while it held; not_held: the release
//	                        found the lock gone; unconfirmed: the server did not confirm the release
//	lock.key.label          what the function given to WithKeyLabel makes of the first key
//
// The keys themselves are no attribute of metrics: a program that locks each of its customers has as
// many keys as customers, and each would be a time series for every combination of the attributes above,
// for as long as the process runs. WithKeyLabel is for programs whose keys fall into a few kinds.
//
// # Spans
//
// "lock acquire" lasts from the call to the grant or the failure, "lock hold" from the grant to the
// release or the loss. Both are children of the span in the context of the call that acquired the lock, and
// both have lock.backend, lock.mode and lock.keys, the names of the keys in their order. The former has
// lock.outcome, lock.queued and error.type, the latter lock.end. Their status is Error when the acquire timed
// out or failed otherwise than by its caller's cancellation, and when the lock was lost, was found gone or
// was not confirmed to be freed.
//
// Spans are made when they end, with the times at which they began. So a process that dies while it
// holds a lock leaves no span of the hold, and spans of the work under the lock are siblings of it.
package otellock
