package lock

import "errors"

// What can go wrong. Errors returned by this module wrap one of these, and the server's or driver's
// own error with its code, where there is one.
var (
	// ErrNotAcquired: someone else holds the lock, and the caller did not want to wait.
	ErrNotAcquired = errors.New("lock not acquired: held by someone else")

	// ErrTimeout: the lock did not come within the time that the caller would wait. When the end of
	// the caller's context was that time, context.DeadlineExceeded is wrapped too.
	ErrTimeout = errors.New("timed out waiting for the lock")

	// ErrLost: the lock was held and is not any more, or can't be known to be. Someone else may hold
	// it. It is the cause of the end of a handle's context, and what Release gives after that.
	ErrLost = errors.New("lock lost")

	// ErrNotHeld: what was to be released or checked was not held: released before, or never taken
	// by this session.
	ErrNotHeld = errors.New("lock not held")

	// ErrUnconfirmed: the lock was held to the end, as far as is known, but the server did not
	// confirm its release in time. Its connection is closed, which frees a session's lock as soon as
	// the server sees that; a lease ends with its TTL.
	ErrUnconfirmed = errors.New("release not confirmed")

	// ErrDeadlock: the server ended the wait because waiting any longer could not have ended. No key
	// of the request is held.
	ErrDeadlock = errors.New("deadlock detected by the server")

	// ErrLockTableFull: the server has no room for another lock (PostgreSQL 53200).
	ErrLockTableFull = errors.New("server's lock table is full")

	// ErrPooler: the server is reached through a pooler that gives the statements of one client to
	// several server sessions, so that session-level locks can't be kept.
	ErrPooler = errors.New("session-level locks through a pooler")

	// ErrPoolExhausted: holding one more lock would leave no connection for the work under it.
	ErrPoolExhausted = errors.New("connection pool exhausted by lock holders")

	// ErrReentrant: the lock is already held in this chain of calls.
	ErrReentrant = errors.New("lock already held in this chain of calls")

	// ErrKeyCollision: two different names in this process have the same 64-bit value, so that they
	// would be one lock.
	ErrKeyCollision = errors.New("two names with one 64-bit key")

	// ErrClosed: the Locker has been closed.
	ErrClosed = errors.New("locker closed")

	// ErrInvalid: an argument or option that can't be right, such as the zero Key or a TTL that is
	// too short. The text says which.
	ErrInvalid = errors.New("invalid argument")
)
