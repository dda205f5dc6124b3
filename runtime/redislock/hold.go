package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// margin is what a lease is believed to end before the server ends it: a fiftieth of the TTL for
// clocks that run at different rates, which differ by well under 1 %, and 2 ms for the server's
// rounding to milliseconds, down, of both the time and the expiry.
func margin(ttl time.Duration) time.Duration { return ttl/50 + 2*time.Millisecond }

// A hold is a lock.Hold: the leases of a request's keys, which are held together or not at all.
type hold struct {
	backend *backend
	request lock.Request
	token   string // 128 random bits or more: whose the Redis keys are
	leases  []*lease

	mu      sync.Mutex // also of the leases' times
	phase   phase
	granted bool          // Acquire has returned, or is about to
	timer   *time.Timer   // set when the first lease begins; it looks at the deadline, whatever renewals do
	reason  error         // of lost
	lost    chan struct{} // closed then; nil for one key
}

type phase int

const (
	alive phase = iota
	gone        // lost
	over        // released or dropped
)

// A lease is one Redis key of a hold.
type lease struct {
	hold *hold
	keys []string // the lock, and with fencing its counter

	// While it is being taken, by the one goroutine that does:
	granted bool  // the server said so
	doubt   bool  // a try had no answer: it may have been granted, or be when a late packet arrives
	pending *call // to the server, which nobody waits for any more; nil: there is none
	fence   int64

	// By the hold's mutex:
	deadline time.Time // from the time that the last renewal that was confirmed was sent
	failure  error     // of the last renewal

	// By the renewals' mutex:
	due      time.Time
	place    int  // in the heap; absent when it is not there
	finished bool // never to come back
}

func newHold(b *backend, request lock.Request) *hold {
	h := &hold{backend: b, request: request, token: rand.Text()}
	if len(request.Keys) > 1 {
		h.lost = make(chan struct{}) // one that waits has another already
	}
	for _, key := range request.Keys {
		l := &lease{hold: h, keys: []string{b.prefix.lock(key)}, place: absent}
		if b.fencing {
			l.keys = append(l.keys, b.prefix.beside(key, fenceName))
		}
		h.leases = append(h.leases, l)
	}
	return h
}

// name is the Redis key.
func (l *lease) name() string { return l.keys[0] }

// notOurs is the loss of a lease that the server denies.
func (l *lease) notOurs() error {
	return fmt.Errorf("%w: %q is not ours any more: it was deleted, evicted or given to another", lock.ErrLost, l.name())
}

// begin starts the lease from the time that the acquire was sent. False when it is over already.
func (l *lease) begin(a answer) bool {
	h := l.hold
	deadline := a.sent.Add(h.request.TTL - margin(h.request.TTL))
	left := time.Until(deadline)
	if left <= 0 {
		return false
	}
	l.fence = a.fence
	h.mu.Lock()
	l.deadline = deadline
	if h.timer == nil {
		h.timer = time.AfterFunc(left, h.expire)
	} else if h.phase == alive {
		h.timer.Reset(time.Until(h.first().deadline)) // a slow reply's lease may end before those begun
	}
	h.mu.Unlock()
	h.backend.renewals.add(l, a.sent)
	return true
}

// grant makes losses known to the request from here on. An error says that a lease was lost before.
func (h *hold) grant() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == gone {
		return h.reason
	}
	h.granted = true
	return nil
}

// sleep waits, or gives an error as soon as ctx ends or a lease that was taken already is lost.
func (h *hold) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-h.lost:
		return h.reason
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tokens are the fencing tokens.
func (h *hold) Tokens() []int64 {
	if !h.backend.fencing {
		return nil
	}
	tokens := make([]int64, len(h.leases))
	for i, l := range h.leases {
		tokens[i] = l.fence
	}
	return tokens
}

// Deadline is the earliest of the leases'.
func (h *hold) Deadline() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first().deadline
}

// first is the lease that ends first of those that have begun. The mutex is held.
func (h *hold) first() *lease {
	first := h.leases[0]
	for _, l := range h.leases {
		if !l.deadline.IsZero() && l.deadline.Before(first.deadline) {
			first = l
		}
	}
	return first
}

// expire is what the timer calls: it ends the hold at its deadline, unless that has moved.
func (h *hold) expire() {
	h.mu.Lock()
	if h.phase != alive {
		h.mu.Unlock()
		return
	}
	first := h.first()
	if left := time.Until(first.deadline); left > 0 {
		h.timer.Reset(left)
		h.mu.Unlock()
		return
	}
	reason := fmt.Errorf("%w: no renewal of %q was confirmed within its TTL of %v", lock.ErrLost, first.name(), h.request.TTL)
	if first.failure != nil {
		reason = fmt.Errorf("%w: %w", reason, first.failure)
	}
	h.lose(reason)
}

// lose ends the hold because of what reason says. The mutex is held, and given up.
func (h *hold) lose(reason error) {
	h.phase, h.reason = gone, reason
	h.timer.Stop()
	if h.lost != nil {
		close(h.lost)
	}
	tell := h.granted
	h.mu.Unlock()
	h.backend.renewals.remove(h.leases)
	if tell {
		h.request.Lost(reason)
	}
}

// An outcome is what follows from a renewal.
type outcome struct {
	due  time.Time // when the next is
	more bool      // whether there is a next
	tell func()    // tells the observers; nil when nobody is to hear of it
}

// renewed is told what became of a renewal that was sent at that time.
func (h *hold) renewed(l *lease, sent time.Time, n int64, err error) (o outcome) {
	now, ttl := time.Now(), h.request.TTL
	if err == nil && n == 0 {
		err = l.notOurs()
	}
	h.mu.Lock()
	if h.phase != alive {
		h.mu.Unlock()
		return outcome{}
	}
	if h.granted {
		o.tell = func() { h.request.Renewed(now.Sub(sent), err) }
	}
	switch l.failure = err; {
	case err == nil && now.Before(l.deadline):
		if d := sent.Add(ttl - margin(ttl)); d.After(l.deadline) { // one that was sent later may have come first
			l.deadline = d
		}
		o.due, o.more = sent.Add(ttl/renewalsPerTTL), true
		h.mu.Unlock()
	case err == nil: // the reply came too late: the lease has ended, and the timer is about to say so
		l.failure = fmt.Errorf("the last renewal was answered after %v", now.Sub(sent).Round(time.Millisecond))
		h.mu.Unlock()
	case errors.Is(err, lock.ErrLost):
		h.lose(err)
	default:
		o.due, o.more = now.Add(ttl/retriesPerTTL), true
		h.mu.Unlock()
	}
	return o
}

// Check asks for every key whether it has our token.
func (h *hold) Check(ctx context.Context) error {
	var answers []number
	c := h.backend.workers.call(func() reply {
		answers = h.backend.pipeline(ctx, checkScript, h.leases)
		return reply{}
	})
	if _, ok := c.wait(ctx); !ok {
		return context.Cause(ctx)
	}
	var silent error
	for i, a := range answers {
		switch {
		case a.err != nil:
			silent = a.err
		case a.n == 0:
			return h.leases[i].notOurs()
		}
	}
	return silent
}

// finish stops renewals and the timer. Nothing is lost after it.
func (h *hold) finish() {
	h.mu.Lock()
	was := h.phase
	h.phase = over
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	if was == alive {
		h.backend.renewals.remove(h.leases)
	}
}
