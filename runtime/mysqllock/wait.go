package mysqllock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A patience cuts the wait for a lock into the waits of single GET_LOCKs.
//
// A wait without end is cut, too. MySQL has one for a negative timeout, but MariaDB answers NULL to that
// at once (measured); and a statement that ends in known time shows a server that has become silent, and
// leaves a waiter of a client that vanished without a word (no FIN, no RST) not longer than that. Short
// steps would cost the place in the server's queue often, which the waiters of other processes then
// overtake; longer ones than 20 s would meet a readTimeout of 30 s, which many set.
type patience struct {
	wait  time.Duration // of the request: negative without end, 0 for one try
	step  time.Duration
	since time.Time
}

// fraction is the longest wait below a second that one GET_LOCK is told. MariaDB waits for fractions of a
// second as told (measured: 0.1 to 0.7 within 3 ms). MySQL takes an integer (its manual says seconds and
// nothing of fractions, its source calls val_int), to which a fraction is rounded: one below a half is
// no wait, never one that is too long. The pause then makes up for it.
const fraction = 490 * time.Millisecond

// next is how long the next GET_LOCK should wait.
func (p patience) next() time.Duration {
	left := p.left()
	switch {
	case left < time.Second:
		return max(min(left, fraction).Truncate(time.Millisecond), 0)
	default:
		return min(left, p.step).Truncate(time.Second)
	}
}

func (p patience) left() time.Duration {
	if p.wait < 0 {
		return p.step
	}
	return p.wait - time.Since(p.since)
}

// after is called when a GET_LOCK that was to wait did not get the lock in the time that it took. It is
// nil when there should be another, after a pause when the server did not wait.
func (p patience) after(ctx context.Context, wait, took time.Duration) error {
	left := p.left()
	switch {
	case p.wait == 0:
		return lock.ErrNotAcquired
	case left < time.Millisecond:
		return lock.ErrTimeout
	case took >= wait/2 && wait > 0:
		return nil
	}
	pause := time.NewTimer(min(left, 5*time.Millisecond+rand.N(20*time.Millisecond)))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
