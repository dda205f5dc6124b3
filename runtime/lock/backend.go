package lock

import (
	"context"
	"time"
)

// A Backend takes locks on one server. Package lock does what is alike for all of them: queues in
// the process, contexts, re-entrancy, observers. Packages pglock, pgxlock, mysqllock and redislock
// have one each; locktest.Run is what a backend must pass.
type Backend interface {
	// Name is the server's, for errors and observers: "postgresql".
	Name() string

	// Acquire takes every key of the request, or none: after an error nothing is held and nothing
	// will come to be held, or will end without anyone's doing at the latest with the TTL. It waits as
	// long as ctx and the request allow, and answers ErrNotAcquired (for a Wait of 0) or ErrTimeout (for
	// others) when someone else holds a key; when ctx ended, an error that wraps context.Cause(ctx).
	// Once it has returned, ctx has no effect on the lock.
	Acquire(ctx context.Context, request Request) (Hold, error)

	// Close ends what the backend started. Every hold has been released by then.
	Close() error
}

// A Claimer is a Backend whose server can remember when something last ran. RunOnce needs it.
type Claimer interface {
	// Claim answers true, and remembers now, when key was not claimed in the last every, by the
	// server's clock.
	Claim(ctx context.Context, key Key, every time.Duration) (bool, error)
}

// A Request is what Acquire is asked for.
type Request struct {
	Keys           []Key         // at least one; distinct, in order of Compare
	Shared         bool          // otherwise exclusive
	Wait           time.Duration // negative: until the context ends; 0: not at all
	TTL            time.Duration // of a lease
	ReleaseTimeout time.Duration // for what Acquire itself must free after an error

	// Nested says that the caller holds other locks of this Locker, so that waiting for a connection
	// could be waiting for itself.
	Nested bool

	// Lost must be called, from any goroutine, when the lock can no longer be known to be held; not
	// because of Release. The reason is wrapped in ErrLost by the one who is called. Further calls do nothing.
	Lost func(reason error)

	// Renewed is called after each renewal of a lease that was tried, with how long it took.
	Renewed func(took time.Duration, err error)
}

// A Hold is a lock of a Backend while it is held. Package lock calls Release once, and nothing after it.
type Hold interface {
	// Tokens gives the fencing token of each key, in the request's order; nil without fencing.
	Tokens() []int64

	// Deadline is until when the lock is held if nothing more is heard of the server, on the monotonic
	// clock; zero for a lock without lease. Renewals move it.
	Deadline() time.Time

	// Check asks the server whether every key is held by this hold: nil, or an error that wraps ErrLost
	// when it is not. Any other error says that there was no answer.
	Check(ctx context.Context) error

	// Release frees every key within ctx, which is not the caller's. Nil says that the server confirmed
	// it; ErrNotHeld that the server says it was not held; ErrLost that it was lost before; ErrUnconfirmed
	// anything else. In every case nothing of the hold is left on a connection that others may use.
	Release(ctx context.Context) error
}
