package lock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Locker takes locks on one server. Its methods may be called from several goroutines.
type Locker struct {
	backend Backend
	opts    options
	queues  queues

	mu      sync.Mutex
	closed  bool
	handles map[*Handle]struct{}
	calls   sync.WaitGroup // acquires under way and handles not released
}

// New makes a Locker of a backend. Programs call the New of the backend's package.
func New(backend Backend, opts ...Option) (*Locker, error) {
	o, err := options{wait: forever, ttl: DefaultTTL, releaseTimeout: DefaultReleaseTimeout}.apply(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", backend.Name(), err)
	}
	l := &Locker{backend: backend, opts: o, handles: map[*Handle]struct{}{}}
	return l, nil
}

// Acquire takes the lock of key. Ctx bounds the wait only, not the lock, which is held until Release
// or until it is lost.
//
// Errors: ErrNotAcquired, ErrTimeout, ErrReentrant, ErrKeyCollision, ErrDeadlock, ErrLockTableFull,
// ErrPooler, ErrPoolExhausted, ErrClosed, ErrInvalid, context.Cause(ctx), or what the driver says.
func (l *Locker) Acquire(ctx context.Context, key Key, opts ...Option) (*Handle, error) {
	return l.AcquireAll(ctx, []Key{key}, opts...)
}

// AcquireAll takes the locks of all keys, or none, in an order that is the same in every process.
// A key that is given twice is taken once.
func (l *Locker) AcquireAll(ctx context.Context, keys []Key, opts ...Option) (*Handle, error) {
	return l.acquire(ctx, context.WithoutCancel(ctx), keys, opts)
}

// acquire makes a handle whose context has the end and the values of parent.
func (l *Locker) acquire(ctx, parent context.Context, keys []Key, opts []Option) (*Handle, error) {
	h, err := l.pending(ctx, parent, keys, opts)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	queued, err := l.take(h)
	if err != nil {
		err = h.fault("acquire", err)
		h.mu.Lock()
		h.state = released
		h.mu.Unlock()
		h.end()
		h.observe(Event{Kind: Failed, Took: time.Since(start), Queued: queued, Err: err})
		return nil, err
	}
	h.acquired(time.Since(start), queued)
	return h, nil
}

// pending makes the handle of a lock that is not held yet, after looking at everything that can be
// wrong without a server.
func (l *Locker) pending(ctx, parent context.Context, keys []Key, more []Option) (*Handle, error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, Key.Compare)
	h := &Handle{locker: l, keys: slices.Compact(keys), caller: ctx}
	h.outer = innermost(parent)
	var err error
	if h.opts, err = l.opts.apply(more); err != nil {
		return nil, h.fault("acquire", err)
	}
	if len(keys) == 0 {
		return nil, h.fault("acquire", fmt.Errorf("%w: no key", ErrInvalid))
	}
	for _, k := range h.keys {
		if k.IsZero() {
			return nil, h.fault("acquire", fmt.Errorf("%w: the zero Key", ErrInvalid))
		}
		if err := process.check(k); err != nil {
			return nil, h.fault("acquire", err)
		}
		if h.outer.has(l, k) {
			return nil, h.fault("acquire", fmt.Errorf("%w: %q", ErrReentrant, k))
		}
	}
	h.waiting, h.abort = context.WithCancelCause(ctx)
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(parent, handleKey{}, h))
	if err := l.remember(h); err != nil {
		h.abort(err)
		h.cancel(err)
		return nil, h.fault("acquire", err)
	}
	return h, nil
}

// A server that ends a wait at the time that it was told to answers a moment later, and one that is
// told what is left until a context's deadline should answer a moment before: otherwise the client
// gives up first, and with it the connection.
const (
	afterWait = 500 * time.Millisecond
	beforeEnd = 25 * time.Millisecond // at most; an eighth of a shorter wait
)

// take waits for the turn in this process on every key, then for the server. Close ends it.
func (l *Locker) take(h *Handle) (queued bool, err error) {
	defer h.abort(nil)
	start := time.Now()
	if queued, err = l.queue(h); err != nil {
		return queued, err
	}
	wait := h.opts.wait
	if wait > 0 {
		wait = max(wait-time.Since(start), time.Millisecond)
	}
	return queued, l.ask(h, wait)
}

// bounded is ctx for at most a time to wait, unless that is 0 or forever.
func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, wait, ErrTimeout)
}

// queue waits for the turns. Keys are in order, so that two who want several can't wait for each other.
func (l *Locker) queue(h *Handle) (queued bool, err error) {
	if h.opts.wait == 0 {
		return l.tryQueue(h)
	}
	start := time.Now()
	for _, k := range h.keys {
		if behind := l.queues.enter(k, h.opts.shared); behind != nil {
			queued = true
			if err := stand(h.waiting, behind, start, h.opts.wait); err != nil {
				return queued, err
			}
		}
		h.turns = append(h.turns, k)
	}
	return queued, nil
}

func (l *Locker) tryQueue(h *Handle) (queued bool, err error) {
	for _, k := range h.keys {
		turn, ok := l.queues.try(k, h.opts.shared)
		queued = queued || !turn
		if !ok {
			return queued, ErrNotAcquired
		}
		if turn {
			h.turns = append(h.turns, k)
		}
	}
	return queued, nil
}

// stand waits in a queue, for what is left of a wait that began at start.
func stand(ctx context.Context, behind *place, start time.Time, wait time.Duration) error {
	if wait > 0 {
		wait = max(wait-time.Since(start), time.Nanosecond)
	}
	ctx, cancel := bounded(ctx, wait)
	defer cancel()
	if err := behind.wait(ctx); err != nil {
		return waitError(ctx, err)
	}
	return nil
}

// ask asks the server, for what is left of the time to wait.
func (l *Locker) ask(h *Handle, wait time.Duration) error {
	request := Request{
		Keys: h.keys, Shared: h.opts.shared, Wait: wait, TTL: h.opts.ttl,
		ReleaseTimeout: h.opts.releaseTimeout, Nested: h.outer.nested(l), Lost: h.lose,
		Renewed: func(took time.Duration, err error) { h.observe(Event{Kind: Renewed, Took: took, Err: err}) },
	}
	ended := false // by the context's deadline, of which the server was told
	if deadline, ok := h.waiting.Deadline(); ok && wait != 0 {
		left := time.Until(deadline)
		left = max(left-min(left/8, beforeEnd), time.Millisecond)
		if ended = wait < 0 || left < wait; ended {
			request.Wait = left
		}
	}
	if wait > 0 {
		wait += afterWait
	}
	ctx, cancel := bounded(h.waiting, wait)
	defer cancel()
	hold, err := l.backend.Acquire(ctx, request)
	if err != nil {
		if ended && errors.Is(err, ErrTimeout) {
			err = joined(context.DeadlineExceeded, err)
		}
		return waitError(ctx, err)
	}
	h.mu.Lock()
	h.hold, h.since = hold, time.Now()
	if h.state == pending {
		h.state = held
	}
	h.mu.Unlock()
	if h.opts.shared {
		h.leave()
	}
	if errors.Is(context.Cause(h.waiting), ErrClosed) {
		return errors.Join(ErrClosed, h.Release(ctx)) // Close was too early for this handle to be released by it
	}
	return nil
}

// waitError says with its own sentinel why a wait ended. Backends and drivers give what ctx.Err gives,
// or their own error about it; a server's timeout comes a moment before that of the context.
func waitError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	err = joined(cause, err)
	if errors.Is(cause, context.DeadlineExceeded) && !errors.Is(cause, ErrClosed) && !errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// joined is err, with cause before it when it is not in it already.
func joined(cause, err error) error {
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// remember counts a handle, for Close to wait for.
func (l *Locker) remember(h *Handle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.handles[h] = struct{}{}
	l.calls.Add(1)
	return nil
}

func (l *Locker) forget(h *Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handles, h)
	l.calls.Done()
}

// Close ends every wait with ErrClosed and the context of every lock that is held, gives the holders
// ReleaseTimeout to release, releases what they did not, and returns when nothing of the Locker runs any
// more. It does not close the pool or client that the Locker was given.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.mu.Unlock()
	for _, h := range l.open() {
		h.abort(ErrClosed)
		h.lose(ErrClosed)
	}
	done := make(chan struct{})
	go func() { l.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(l.opts.releaseTimeout):
		for _, h := range l.open() {
			_ = h.Release(context.Background()) // the holder hears of it
		}
		<-done
	}
	return l.backend.Close()
}

// open gives the handles that are not released.
func (l *Locker) open() []*Handle {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.handles))
}
