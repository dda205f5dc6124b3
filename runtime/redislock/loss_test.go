package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// onServer is a Locker beside a client of the same server.
func onServer(t *testing.T, opts ...redislock.Option) (*redislock.Locker, redis.UniversalClient) {
	t.Helper()
	address := testserver.Redis(t)
	return locker(t, single(t, address), opts...), single(t, address)
}

// held waits for longer than the TTL of a lock, and gives an error if it is lost.
func held(t *testing.T, h *lock.Handle, ttl time.Duration) error {
	t.Helper()
	select {
	case <-h.Context().Done():
		return context.Cause(h.Context())
	case <-time.After(ttl + ttl/4):
	}
	return h.Check(within(t, soon))
}

func killedConnections(t *testing.T) {
	const life = 5 * time.Second
	l, admin := onServer(t, ttl(life))
	oneOfSeveral(t, func() error {
		h := acquire(t, l, lock.NewKey("kill"))
		if n, err := admin.ClientKillByFilter(t.Context(), "TYPE", "normal").Result(); n == 0 || err != nil {
			t.Fatalf("%d connections killed, %v", n, err)
		}
		return errors.Join(held(t, h, life), h.Release(t.Context()))
	})
}

// Connections that the network has forgotten are as silent as a server that does not answer, for longer
// than the TTL. Renewals go on, on others.
func halfOpenConnections(t *testing.T) {
	const life = 4 * time.Second
	address := testserver.Redis(t)
	proxy := faultproxy.New(t, address)
	client := connect(t, &redis.UniversalOptions{Addrs: []string{proxy.Addr()}, ReadTimeout: life + life/8})
	l := locker(t, client, ttl(life))
	oneOfSeveral(t, func() error {
		h := acquire(t, l, lock.NewKey("half"))
		time.Sleep(life / 2) // renewed once, so that every pool of the client has a connection
		proxy.HalfOpen()
		kept := held(t, h, life)
		if kept != nil {
			kept = fmt.Errorf("%w; the server, asked directly: %v", kept, single(t, address).Ping(t.Context()).Err())
		}
		// The release's first try is lost for longer than the TTL.
		if err := h.Release(t.Context()); err != nil && !errors.Is(err, lock.ErrUnconfirmed) {
			return errors.Join(kept, err)
		}
		return kept
	})
}

func flushedScripts(t *testing.T) {
	const life = 5 * time.Second
	l, admin := onServer(t, ttl(life))
	flush := func() {
		if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	oneOfSeveral(t, func() error {
		h := acquire(t, l, lock.NewKey("flush"))
		flush() // the next renewal, in a pipeline
		kept := held(t, h, life)
		flush()
		return errors.Join(kept, h.Release(t.Context()))
	})
	h := acquire(t, l, lock.NewKey("flush"), lock.TTL(time.Hour))
	flush()
	if err := h.Check(within(t, soon)); err != nil {
		t.Error(err)
	}
	flush()
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func flushedData(t *testing.T) {
	const life = 6 * time.Second
	l, admin := onServer(t, ttl(life), redislock.Fencing())
	oneOfSeveral(t, func() error {
		h := acquire(t, l, lock.NewKey("flush"))
		before := h.Token()
		start := time.Now()
		if err := admin.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		cause := ended(t, h)
		if !errors.Is(cause, lock.ErrLost) {
			t.Errorf("%v, want ErrLost", cause)
		}
		t.Logf("lost %v after the flush, with a TTL of %v", time.Since(start).Round(time.Millisecond), life)
		if err := h.Guard(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("guard: %v, want ErrLost", err)
		}
		if err := h.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
		h = acquire(t, l, lock.NewKey("flush"))
		if h.Token() <= before {
			t.Errorf("fencing token %d after a flush, %d before", h.Token(), before)
		}
		h.Release(t.Context())
		if !strings.Contains(cause.Error(), "is not ours any more") {
			return fmt.Errorf("the end of the lease came before the answer to a renewal: %v", cause)
		}
		return nil
	})
}

// What another deletes and takes is not ours any more, and our release leaves it alone.
func TestALockThatAnotherTookIsLeftAlone(t *testing.T) {
	noLeaks(t)
	l, admin := onServer(t, ttl(time.Hour))
	key := lock.NewKey("stolen")
	h := acquire(t, l, key)
	admin.Set(t.Context(), name(key), "another's", time.Hour)
	if err := h.Check(within(t, soon)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v, want ErrLost", err)
	}
	h.Release(t.Context())
	if value := admin.Get(t.Context(), name(key)).Val(); value != "another's" {
		t.Errorf("the other's lock is now %q", value)
	}
}

func TestFencingTokensGrowByOneWithoutLoss(t *testing.T) {
	noLeaks(t)
	l, _ := onServer(t, redislock.Fencing())
	var last int64
	for i := range 20 {
		h := acquire(t, l, lock.NewKey("fence"))
		if i > 0 && h.Token() != last+1 {
			t.Errorf("token %d after %d", h.Token(), last)
		}
		last = h.Token()
		h.Release(t.Context())
	}
	h := acquire(t, l, lock.LiteralKey("plain"))
	if h.Token() == 0 {
		t.Error("no token for a literal key")
	}
	h.Release(t.Context())
}

// Nothing of a Locker runs while it holds locks, except for the moments of renewals.
func TestHeldLocksKeepNoGoroutine(t *testing.T) {
	noLeaks(t)
	l, _ := onServer(t, ttl(time.Hour))
	before := goleak.IgnoreCurrent()
	var held []*lock.Handle
	for _, name := range []string{"a", "b", "c"} {
		held = append(held, acquire(t, l, lock.NewKey(name)))
	}
	eventually(t, "no goroutine is left", func() bool { return goleak.Find(before) == nil })
	for _, h := range held {
		h.Release(t.Context())
	}
}
