package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// slow is an observer that takes its time with each renewal, until the end.
type slow struct {
	took time.Duration
	end  chan struct{}
}

func (s slow) Observe(_ context.Context, e lock.Event) {
	if e.Kind != lock.Renewed {
		return
	}
	select {
	case <-s.end:
	case <-time.After(s.took):
	}
}

// The locks are renewed in one pipeline, and the observer takes longer with all of them than the TTL.
func slowObserver(t *testing.T) {
	const life, locks = 4 * time.Second, 40
	oneOfSeveral(t, func() (lost error) {
		observer := slow{life / 20, make(chan struct{})}
		l, _ := onServer(t, redislock.Defaults(lock.TTL(life), lock.WithObserver(observer)))
		var all []*lock.Handle
		for i := range locks {
			all = append(all, acquire(t, l, lock.NewKey("slow", fmt.Sprint(i))))
		}
		time.Sleep(life + life/4)
		close(observer.end)
		for _, h := range all {
			lost = errors.Join(lost, h.Release(t.Context()))
		}
		return lost
	})
}
