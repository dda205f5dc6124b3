package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// take waits for one lock, by asking again and again, until the request's Wait is over at the given
// time. After an error, l.granted, l.doubt and l.pending say what may be on the server.
func (b *backend) take(ctx context.Context, l *lease, until time.Time) error {
	wait, late := l.hold.request.Wait, 0
	for try := 0; ; try++ {
		answer, err := b.ask(ctx, l)
		switch {
		case err != nil:
			return err
		case answer.granted && l.begin(answer):
			return nil
		case answer.granted: // too late to be of use; the next try renews it
			if late++; late == someTries {
				return fmt.Errorf("%w: %d replies in a row came after the TTL of %v", lock.ErrNotAcquired, late, l.hold.request.TTL)
			}
			continue
		case wait == 0:
			return fmt.Errorf("%w: %q%s", lock.ErrNotAcquired, l.name(), answer.holding())
		}
		pause := backoff(try, lastPause, jitter())
		if answer.busy >= 0 {
			pause = min(pause, answer.busy+time.Millisecond) // it is free then, unless renewed
		}
		if wait > 0 {
			left := time.Until(until)
			if left <= 0 {
				return fmt.Errorf("%w: %q%s", lock.ErrTimeout, l.name(), answer.holding())
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

// holding says how long the other holds the lock unless it renews it.
func (a answer) holding() string {
	if a.busy < 0 {
		return ", which has no expiry"
	}
	return fmt.Sprintf(", for %v unless renewed", a.busy)
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
		l.pending = c
		return answer{}, context.Cause(ctx)
	}
	l.doubt = l.doubt || r.doubtful()
	got, err := r.Int64Slice()
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case err != nil:
		return answer{}, err
	case len(got) != 2:
		return answer{}, fmt.Errorf("answer of %d numbers", len(got))
	case got[0] == 1:
		l.granted = true
		return answer{granted: true, sent: r.sent, fence: got[1]}, nil
	}
	return answer{busy: time.Duration(got[1]) * time.Millisecond, sent: r.sent}, nil
}

// doubtful reports whether an acquire may have left something, or be about to, of which its reply does
// not speak. An error of the server is no proof of the contrary: what a script did before it failed is
// not undone.
func (r reply) doubtful() bool {
	err := r.Err()
	return r.unknown || err != nil && answered(err) && !transient(err)
}
