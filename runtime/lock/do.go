package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// handleKey is the context's key of the innermost Handle.
type handleKey struct{}

// Do runs fn while it holds the lock of key, and releases it however fn ends: by returning, by a panic
// or by runtime.Goexit, which go on afterwards. Fn's context ends with ctx, and when the lock is lost.
//
// The error is fn's, joined with that of the release. One that wraps ErrLost or ErrNotHeld says that
// someone else may have held the lock before fn had ended; ErrUnconfirmed does not. When the lock could
// not be taken fn does not run, and the error is one of Acquire's.
func (l *Locker) Do(ctx context.Context, key Key, fn func(context.Context) error, opts ...Option) error {
	return l.DoAll(ctx, []Key{key}, fn, opts...)
}

// DoAll is Do with several keys: all are held, or fn does not run. They are taken in an order that is
// the same in every process; a key that is given twice is taken once.
func (l *Locker) DoAll(ctx context.Context, keys []Key, fn func(context.Context) error, opts ...Option) error {
	h, err := l.acquire(ctx, ctx, keys, opts)
	if err != nil {
		return err
	}
	return h.run(fn)
}

// run calls fn under the lock and releases it.
func (h *Handle) run(fn func(context.Context) error) (err error) {
	defer func() {
		if released := h.Release(h.caller); released != nil {
			err = errors.Join(err, released)
		}
	}()
	return fn(h.ctx)
}

// Token is the fencing token of the lock that the innermost Do around ctx holds: the first key's. It
// is larger than that of every earlier holder of the key. False says that there is none: ctx is not of
// a Do, or the backend was not asked for fencing.
func Token(ctx context.Context) (token int64, ok bool) {
	h, _ := ctx.Value(handleKey{}).(*Handle)
	if h == nil {
		return 0, false
	}
	token = h.Token()
	return token, token != 0
}

// TokenOf is Token for one key, of whichever Do around ctx holds it.
func TokenOf(ctx context.Context, key Key) (token int64, ok bool) {
	h, _ := ctx.Value(handleKey{}).(*Handle)
	for ; h != nil; h = h.outer {
		for i, k := range h.keys {
			if k == key && h.live() {
				token = h.tokenAt(i)
				return token, token != 0
			}
		}
	}
	return 0, false
}

// Guard tells, without asking a server, whether every lock of the Do calls around ctx is held as far as
// can be known now: nil, or an error that wraps ErrLost or ErrNotHeld. Call it just before a step that
// must not overlap with another holder; see Handle.Guard. Only a fencing token closes the moment between
// the two.
func Guard(ctx context.Context) error {
	h, _ := ctx.Value(handleKey{}).(*Handle)
	if h == nil {
		return fmt.Errorf("guard: %w: the context is not of a lock", ErrNotHeld)
	}
	for ; h != nil; h = h.outer {
		if err := h.Guard(); err != nil {
			return err
		}
	}
	return nil
}

// RunOnce runs fn when key has not been run in the last every, by the server's clock, among all who share
// the server: what a job that every replica schedules wants. It holds the lock of key meanwhile, so that
// a run longer than every does not overlap with the next. Ran says whether fn ran; when another runs or
// has run, ran is false and the error nil. A run counts from its start, and also when it fails or its
// process dies: at most once, not at least once.
//
// Every should be somewhat shorter than the schedule's period, since the replicas' timers differ by
// seconds: 50 minutes for an hourly job. The backend needs to remember runs, see its package; otherwise
// the error is errors.ErrUnsupported.
func (l *Locker) RunOnce(ctx context.Context, key Key, every time.Duration, fn func(context.Context) error, opts ...Option) (ran bool, err error) {
	claimer, ok := l.backend.(Claimer)
	switch {
	case !ok:
		return false, fmt.Errorf("%s: run once: %w", l.backend.Name(), errors.ErrUnsupported)
	case every <= 0:
		return false, fmt.Errorf("%s: run once %q: %w: every %v is not positive", l.backend.Name(), key, ErrInvalid, every)
	}
	err = l.Do(ctx, key, func(ctx context.Context) error {
		claimed, err := claimer.Claim(ctx, key, every)
		if err != nil {
			return fmt.Errorf("%s: run once %q: %w", l.backend.Name(), key, err)
		}
		if !claimed {
			return nil
		}
		ran = true
		return fn(ctx)
	}, append(opts[:len(opts):len(opts)], Try())...)
	if !ran && errors.Is(err, ErrNotAcquired) {
		return false, nil
	}
	return ran, err
}

// The pause of a campaign after a term that ended, or an acquire that failed, grows from the first to
// the second while terms are shorter than the second.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Campaign elects one leader among all who campaign for key: it runs fn while it holds the lock, and
// when the term ends, campaigns again, until ctx ends. A term ends when fn returns nil, or when the lock
// is lost, which ends fn's context. A server that does not answer is waited for; observers hear of it.
//
// It returns context.Cause(ctx), ErrClosed, fn's error when fn fails while it leads, or what no
// campaign can get over: ErrReentrant, ErrKeyCollision, ErrPooler, ErrInvalid.
func (l *Locker) Campaign(ctx context.Context, key Key, fn func(context.Context) error, opts ...Option) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began := time.Now()
		if err := l.term(ctx, key, fn, opts); err != nil {
			return err
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

// term waits for the lock and leads once. An error ends the campaign.
func (l *Locker) term(ctx context.Context, key Key, fn func(context.Context) error, opts []Option) error {
	h, err := l.acquire(ctx, ctx, []Key{key}, opts)
	switch {
	case ctx.Err() != nil && err != nil:
		return context.Cause(ctx)
	case err != nil && final(err):
		return err
	case err != nil:
		return nil
	}
	var failed error
	err = h.run(func(ctx context.Context) error {
		failed = fn(ctx)
		return failed
	})
	switch {
	case ctx.Err() != nil && (failed == nil || errors.Is(failed, ctx.Err()) || errors.Is(failed, context.Cause(ctx))):
		return context.Cause(ctx)
	case failed != nil && !errors.Is(err, ErrLost):
		return err
	case failed != nil && ctx.Err() != nil:
		return err
	}
	return nil
}

// final reports whether an acquire will fail in the same way however often it is tried.
func final(err error) bool {
	for _, never := range []error{ErrClosed, ErrReentrant, ErrKeyCollision, ErrPooler, ErrInvalid, errors.ErrUnsupported} {
		if errors.Is(err, never) {
			return true
		}
	}
	return false
}
