package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// renewalCount counts the renewals that went well.
type renewalCount struct{ atomic.Int64 }

func (c *renewalCount) Observe(_ context.Context, e lock.Event) {
	if e.Kind == lock.Renewed && e.Err == nil {
		c.Add(1)
	}
}

// A holder is cut off just after a renewal, and another waits. The first must know that it has lost
// the lock before the second has it, and has the margin of the lease to leave. On a busy machine it may
// be told late, or leave late, so that one try of several counts.
func blackholeAfterARenewal(t *testing.T) {
	for range 6 {
		overlaps := cutOff(t)
		if len(overlaps) == 0 {
			return
		}
		t.Log(overlaps)
	}
	t.Error("the two overlapped, or lost their locks, each time")
}

// cutOff gives how the two overlapped, or what else a busy machine may be the reason of.
func cutOff(t *testing.T) (overlaps []string) {
	const life = 4 * time.Second // so long that its margin, 82 ms, is more than a loaded machine's delays
	address := testserver.Redis(t)
	proxy := faultproxy.New(t, address)
	admin := single(t, address)
	var renewals renewalCount
	cut := locker(t, single(t, proxy.Addr()), ttl(life), redislock.Fencing(), redislock.Defaults(lock.WithObserver(&renewals)))
	other := locker(t, admin, ttl(life), redislock.Fencing())
	key := lock.NewKey("overlap")

	first := acquire(t, cut, key)
	if n := admin.Incr(t.Context(), "inside").Val(); n != 1 {
		t.Fatalf("%d inside", n)
	}
	left := make(chan time.Time, 1)
	context.AfterFunc(first.Context(), func() {
		at := time.Now()
		admin.Decr(context.Background(), "inside")
		left <- at
	})
	eventually(t, "a renewal", func() bool { return renewals.Load() > 0 || first.Guard() != nil })
	if err := first.Guard(); err != nil {
		<-left // so that the next try finds nobody inside
		first.Release(t.Context())
		return []string{fmt.Sprintf("lost before the silence: %v", err)}
	}
	proxy.Blackhole(true)
	silent := time.Now()

	second := acquire(t, other, key)
	granted := time.Now()
	// The clock alone decides this, however late timers are.
	if err := first.Guard(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the first's guard at the second's grant: %v, want ErrLost", err)
	}
	if n := admin.Incr(t.Context(), "inside").Val(); n != 1 {
		overlaps = append(overlaps, fmt.Sprintf("%d inside at the second's grant", n))
	}
	lost := <-left
	t.Logf("silent for %v: the first lost it %v before the second was granted it",
		granted.Sub(silent).Round(time.Millisecond), granted.Sub(lost).Round(time.Millisecond))
	if !lost.Before(granted) {
		overlaps = append(overlaps, fmt.Sprintf("the first lost the lock %v after the second was granted it", lost.Sub(granted)))
	}
	if err := context.Cause(first.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("cause %v, want ErrLost", err)
	}
	if second.Token() <= first.Token() {
		t.Errorf("token %d after %d", second.Token(), first.Token())
	}
	// What the first sent during the silence arrives now, and harms nobody.
	proxy.Blackhole(false)
	first.Release(t.Context())
	if err := errors.Join(second.Check(within(t, soon)), second.Release(t.Context())); err != nil {
		overlaps = append(overlaps, fmt.Sprintf("the second's lock after what the first had sent: %v", err))
	}
	if n := admin.Exists(t.Context(), name(key)).Val(); n != 0 {
		t.Error("the lock is still there")
	}
	return overlaps
}
