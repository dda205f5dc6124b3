package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Handle is one or several locks of one Locker while they are held. Its methods may be called from
// several goroutines.
type Handle struct {
	locker *Locker
	keys   []Key
	opts   options
	outer  *Handle // held by the same chain of calls, from any Locker

	ctx    context.Context // ends with the lock
	cancel context.CancelCauseFunc
	caller context.Context // for observers
	ended  sync.Once

	waiting context.Context // of the acquire: the caller's, until Close
	abort   context.CancelCauseFunc

	mu    sync.Mutex
	turns []Key // whose turn in this process it has
	hold  Hold  // nil until acquired
	since time.Time
	state state
	cause error // of lost
	heard bool  // observers were told that it was acquired; of the end they are told only then

	events  []Event // to be told to the observers, in order
	telling bool    // somebody is telling them
}

type state int

const (
	pending state = iota
	held
	lost     // but not released
	released // or never acquired
)

// Keys are what is held, in order.
func (h *Handle) Keys() []Key { return slices.Clone(h.keys) }

// Context ends when the lock ends: with a cause that wraps ErrLost when it is lost, with ErrNotHeld as
// its cause once it is released. It has the values of the context that the lock was acquired with; of
// a Handle that Do made, also its end and deadline.
func (h *Handle) Context() context.Context { return h.ctx }

// Token is the fencing token of the first key: larger than that of every earlier holder. It is 0
// when the backend was not asked for fencing.
func (h *Handle) Token() int64 { return h.tokenAt(0) }

func (h *Handle) tokenAt(i int) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hold == nil {
		return 0
	}
	if tokens := h.hold.Tokens(); i < len(tokens) {
		return tokens[i]
	}
	return 0
}

// Guard tells, without asking the server, whether the lock is held as far as can be known now: nil, or
// an error that wraps ErrLost or ErrNotHeld. It looks at the clock itself, so that it answers right in a
// process that was stopped for longer than its lease, before any timer has run.
func (h *Handle) Guard() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.state {
	case held:
		if d := h.hold.Deadline(); !d.IsZero() && !time.Now().Before(d) {
			return h.fault("guard", fmt.Errorf("%w: lease ended %v ago", ErrLost, time.Since(d).Round(time.Millisecond)))
		}
		return nil
	case lost:
		return h.fault("guard", h.cause)
	default:
		return h.fault("guard", ErrNotHeld)
	}
}

// Check asks the server whether the lock is held: nil when it is. An error that wraps ErrLost or
// ErrNotHeld says that it is not, any other that the server did not answer within ctx.
func (h *Handle) Check(ctx context.Context) error {
	if err := h.Guard(); err != nil {
		return err
	}
	err := h.hold.Check(ctx)
	if errors.Is(err, ErrLost) {
		h.lose(err)
	}
	return h.fault("check", err)
}

// Release frees the lock. It is not stopped by the end of ctx, of which only the values count, but by
// ReleaseTimeout. Nil says that the server confirmed the release. ErrLost says that the lock was lost
// while it was held, ErrNotHeld that it was released before, ErrUnconfirmed that the server did not
// answer; in no case is there anything left to release.
func (h *Handle) Release(ctx context.Context) error {
	h.mu.Lock()
	was, cause, hold, heard := h.state, h.cause, h.hold, h.heard
	if hold != nil {
		h.state = released
	}
	h.mu.Unlock()
	if hold == nil || was == released {
		return h.fault("release", ErrNotHeld)
	}
	start := time.Now()
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opts.releaseTimeout)
	defer cancel()
	err := hold.Release(detached)
	if was == lost {
		err = cause
	}
	if heard { // before the next in this process has its turn
		h.mu.Lock()
		h.events = append(h.events, Event{Kind: Released, Took: time.Since(start), Held: start.Sub(h.since), Err: err})
		h.mu.Unlock()
		h.tell()
	}
	h.end()
	return h.fault("release", err)
}

// end is the last thing that happens to a handle; only the first call does anything.
func (h *Handle) end() {
	h.ended.Do(func() {
		h.cancel(ErrNotHeld)
		h.leave()
		h.locker.forget(h)
	})
}

// leave passes the turns on to the next in this process.
func (h *Handle) leave() {
	h.mu.Lock()
	turns := h.turns
	h.turns = nil
	h.mu.Unlock()
	for _, k := range slices.Backward(turns) {
		h.locker.queues.leave(k)
	}
}

// lose ends the handle's context because of what reason says. It is what a Backend calls as Request.Lost,
// which may be before Acquire has returned.
func (h *Handle) lose(reason error) {
	if !errors.Is(reason, ErrLost) {
		reason = fmt.Errorf("%w: %w", ErrLost, reason)
	}
	h.mu.Lock()
	if h.state != pending && h.state != held {
		h.mu.Unlock()
		return
	}
	h.state, h.cause = lost, reason
	if h.heard { // in the queue before a release can have been called
		h.events = append(h.events, Event{Kind: Lost, Held: time.Since(h.since), Err: reason})
	}
	h.mu.Unlock()
	h.cancel(h.fault("hold", reason))
	h.tell()
}

// acquired tells the observers, also of a loss that was reported before they could know the lock.
func (h *Handle) acquired(took time.Duration, queued bool) {
	h.mu.Lock()
	h.heard = true
	h.events = append(h.events, Event{Kind: Acquired, Took: took, Queued: queued})
	if h.state == lost {
		h.events = append(h.events, Event{Kind: Lost, Held: time.Since(h.since), Err: h.cause})
	}
	h.mu.Unlock()
	h.tell()
}

// tell gives the observers what is in the queue. Whoever comes while they are being told, an observer
// that releases for example, leaves it to the one who tells.
func (h *Handle) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.telling {
		return
	}
	h.telling = true
	defer func() { h.telling = false }()
	for len(h.events) > 0 {
		next := h.events[0]
		h.events = h.events[1:]
		func() {
			h.mu.Unlock()
			defer h.mu.Lock() // also when an observer panics
			h.observe(next)
		}()
	}
}

// innermost is the last handle that ctx was made under and that is not released: what released ones
// leave behind must not grow with a chain of contexts.
func innermost(ctx context.Context) *Handle {
	h, _ := ctx.Value(handleKey{}).(*Handle)
	for h != nil && !h.live() {
		h = h.outer
	}
	return h
}

// has reports whether this handle, or one around it, holds key of locker at this time.
func (h *Handle) has(locker *Locker, key Key) bool {
	for ; h != nil; h = h.outer {
		if h.locker == locker && h.live() && slices.Contains(h.keys, key) {
			return true
		}
	}
	return false
}

// nested reports whether this handle, or one around it, is one of locker's.
func (h *Handle) nested(locker *Locker) bool {
	for ; h != nil; h = h.outer {
		if h.locker == locker && h.live() {
			return true
		}
	}
	return false
}

func (h *Handle) live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state != released
}

func (h *Handle) observe(e Event) {
	e.Backend, e.Keys, e.Shared = h.locker.backend.Name(), h.keys, h.opts.shared
	for _, o := range h.opts.observers {
		o.Observe(h.caller, e)
	}
}

// fault adds to an error which operation on which keys of which server it is about.
func (h *Handle) fault(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s %s: %w", h.locker.backend.Name(), operation, names(h.keys), err)
}

// names is the keys for an error. Many would be too long to read.
func names(keys []Key) string {
	const most = 4
	var b strings.Builder
	for i, k := range keys {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(keys)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", k.String())
	}
	return b.String()
}
