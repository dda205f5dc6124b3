package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Release frees every key. Nil says that the server deleted each one with our token in it.
//
// A release is sent again when no answer comes, and the second try answers 0 when the first one did
// the work and its reply was lost. It answers so, too, when the lock had been lost before, and the two
// can't be told apart afterwards: that is ErrUnconfirmed. The first try's 0 is certain: ErrNotHeld.
func (h *hold) Release(ctx context.Context) error {
	h.finish()
	if len(h.leases) == 1 {
		return h.leases[0].release(ctx)
	}
	failures := make([]error, len(h.leases))
	var group sync.WaitGroup
	for i, l := range h.leases {
		group.Go(func() { failures[i] = l.release(ctx) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// release frees one key.
func (l *lease) release(ctx context.Context) error {
	b := l.hold.backend
	c := b.workers.call(func() reply {
		return releaseScript.run(ctx, b.client, untilEnd, l.keys[:1], l.hold.token)
	})
	r, ok := c.wait(ctx)
	if !ok {
		l.pending = c
		l.clear()
		return fmt.Errorf("%w: %q: %w", lock.ErrUnconfirmed, l.name(), context.Cause(ctx))
	}
	if l.doubt || r.Err() != nil {
		l.clear()
	}
	return released(r, l.name())
}

// released says what the answer to a release means.
func released(r reply, name string) error {
	n, err := r.Int64()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %q: %w", lock.ErrUnconfirmed, name, err)
	case n > 0:
		return nil
	case r.unknown:
		return fmt.Errorf("%w: %q: deleted by a try that had no answer, or lost before", lock.ErrUnconfirmed, name)
	}
	return fmt.Errorf("%w: %q", lock.ErrNotHeld, name)
}

// drop frees what an Acquire that fails has taken, and what it may have taken. It waits for the first
// tries on what was certainly taken, so that nothing is held on return, unless ctx ends: the rest is
// done in the background.
func (h *hold) drop(ctx context.Context) {
	h.finish()
	ctx, cancel := context.WithTimeout(ctx, h.request.ReleaseTimeout)
	defer cancel()
	var tried []<-chan struct{}
	for _, l := range h.leases {
		switch {
		case l.granted:
			tried = append(tried, l.clear())
		case l.doubt || l.pending != nil:
			l.clear()
		}
	}
	for _, one := range tried {
		select {
		case <-one:
		case <-ctx.Done():
			return
		}
	}
}

// After a try that had no answer, the key may come to be there a moment after it was looked for: a
// packet is late, or a server that was stopped reads it from a connection after ours. So the first 0 is
// not the last word; these are the pauses before it is looked for again.
var rechecks = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond}

// longestPause is that between tries to clear a key on a server that does not answer: what is left is
// gone within a second after it does.
const longestPause = 500 * time.Millisecond

// clear deletes the key if it has our token, in the background, trying until the server has answered
// or the TTL is over. Tried is closed when the first try has ended.
func (l *lease) clear() (tried <-chan struct{}) {
	first := make(chan struct{})
	l.hold.backend.running.Go(func() { l.clearing(sync.OnceFunc(func() { close(first) })) })
	return first
}

func (l *lease) clearing(tried func()) {
	defer tried()
	b := l.hold.backend
	if l.pending != nil {
		<-l.pending.done // what is still to be sent must not come after the deletion
		r := l.pending.reply
		l.doubt = l.doubt || r.doubtful()
		if !l.granted && !l.doubt && r.Err() != nil {
			return // nothing was sent
		}
	}
	var again []time.Duration
	if l.doubt {
		again = rechecks
	}
	until := time.Now().Add(l.hold.request.TTL)
	for try := 0; ; try++ {
		n, err := l.delete()
		tried()
		pause := longest(try+retryShift, longestPause)
		switch {
		case errors.Is(err, redis.ErrClosed), err == nil && (n > 0 || len(again) == 0):
			return
		case err == nil:
			pause, again = again[0], again[1:]
		case time.Now().After(until):
			return
		}
		if !b.rest(pause, err == nil) {
			return
		}
	}
}

// delete tries once to delete the key.
func (l *lease) delete() (int64, error) {
	ctx, cancel := context.WithTimeout(l.hold.backend.life, l.hold.request.ReleaseTimeout)
	defer cancel()
	return releaseScript.run(ctx, l.hold.backend.client, 1, l.keys[:1], l.hold.token).Int64()
}

// rest waits between tries to clear a key. False says that it is time to stop: at once when Close has
// begun and the next try is only a precaution.
func (b *backend) rest(pause time.Duration, precaution bool) bool {
	closing := b.closing
	if !precaution {
		closing = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-closing:
		return false
	case <-b.life.Done():
		return false
	}
}
