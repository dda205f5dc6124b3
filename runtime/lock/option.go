package lock

import (
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultTTL            = 30 * time.Second
	DefaultReleaseTimeout = 5 * time.Second
)

// forever is the Wait of who did not say how long.
const forever time.Duration = -1

// An Option changes how a lock is taken and kept: given to a Locker, for all its locks; given to
// a call, for this one. Later options win.
type Option func(*options)

type options struct {
	wait           time.Duration
	ttl            time.Duration
	shared         bool
	releaseTimeout time.Duration
	observers      []Observer
}

// Wait bounds how long to wait for the lock: then the error is ErrTimeout. Wait(0) tries once: when
// someone else holds the lock, the error is ErrNotAcquired. Without Wait only the context bounds it.
func Wait(d time.Duration) Option { return func(o *options) { o.wait = d } }

// Try is Wait(0).
func Try() Option { return Wait(0) }

// TTL is how long a lease lasts without renewal: DefaultTTL unless said, at least 100 ms. Leases are
// renewed every third of it while they are held. Session locks, which last as long as their
// connection, ignore it.
func TTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// Shared asks for the lock in shared mode: any number of holders, none exclusive. PostgreSQL only;
// other backends answer errors.ErrUnsupported.
func Shared() Option { return func(o *options) { o.shared = true } }

// ReleaseTimeout bounds a release, which no caller's context does: DefaultReleaseTimeout unless said.
func ReleaseTimeout(d time.Duration) Option { return func(o *options) { o.releaseTimeout = d } }

// WithObserver adds one who is told what happens to locks. It is called on the way of what it is
// told of, so that it must return quickly.
func WithObserver(observer Observer) Option {
	return func(o *options) { o.observers = append(o.observers[:len(o.observers):len(o.observers)], observer) }
}

// apply gives the options with further ones, or an error that wraps ErrInvalid.
func (o options) apply(more []Option) (options, error) {
	for _, option := range more {
		option(&o)
	}
	switch {
	case o.wait < 0 && o.wait != forever:
		return o, fmt.Errorf("%w: Wait(%v) is negative", ErrInvalid, o.wait)
	case o.ttl <= 0:
		return o, fmt.Errorf("%w: TTL(%v) is not positive", ErrInvalid, o.ttl)
	case o.releaseTimeout <= 0:
		return o, fmt.Errorf("%w: ReleaseTimeout(%v) is not positive", ErrInvalid, o.releaseTimeout)
	}
	return o, nil
}
