package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// take waits for one lock, by asking again and again, until the request's Wait is over at the given
// time. After an error, l.effect says what may be on the server.
func (b *backend) take(ctx context.Context, l *lease, until time.Time) error {
	wait := l.hold.request.Wait
	for try := 0; ; try++ {
		answer, err := b.ask(ctx, l)
		switch {
		case err != nil:
			return err
		case answer.granted && l.begin(answer):
			return nil
		case answer.granted && try < someTries:
			continue // too late to be of use; the next try renews it
		case answer.granted:
			return fmt.Errorf("%w: every reply came after the TTL of %v", lock.ErrUnconfirmed, l.hold.request.TTL)
		case wait == 0:
			return fmt.Errorf("%w: for %v more", lock.ErrNotAcquired, answer.busy)
		}
		pause := backoff(try, jitter())
		if answer.busy >= 0 {
			pause = min(pause, answer.busy+time.Millisecond) // it is free then, unless renewed
		}
		if wait > 0 {
			left := time.Until(until)
			if left <= 0 {
				return fmt.Errorf("%w: held by another for %v more", lock.ErrTimeout, answer.busy)
			}
			pause = min(pause, left)
		}
		if err := l.hold.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// An answer of the server to an acquire.
type answer struct {
	granted bool
	sent    time.Time
	fence   int64         // when granted, with fencing
	busy    time.Duration // how long the other holds it if it does not renew; negative: for ever
}

// ask asks once for the lock.
func (b *backend) ask(ctx context.Context, l *lease) (answer, error) {
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	c := b.workers.call(func() reply {
		return acquireScript.run(ctx, b.client, someTries, l.keys, l.hold.token, milliseconds(l.hold.request.TTL))
	})
	r, ok := c.wait(ctx)
	if !ok {
		l.doubt, l.settled = true, c.done
		return answer{}, context.Cause(ctx)
	}
	l.doubt = l.doubt || r.unknown
	got, err := r.Int64Slice()
	switch {
	case err != nil:
		l.doubt = true // even an error of the server: a script that fails half-way is not undone
		if ctx.Err() != nil {
			return answer{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return answer{}, err
	case len(got) != 2:
		l.doubt = true
		return answer{}, fmt.Errorf("answer of %d numbers", len(got))
	case got[0] == 1:
		l.granted = true
		return answer{granted: true, sent: r.sent, fence: got[1]}, nil
	}
	return answer{busy: time.Duration(got[1]) * time.Millisecond, sent: r.sent}, nil
}
