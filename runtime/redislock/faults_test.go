package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// faulty is a Locker that reaches its server through a proxy, beside a client that reaches it directly.
type faulty struct {
	*redislock.Locker
	proxy *faultproxy.Proxy
	admin redis.UniversalClient
}

// throughProxy makes one whose server knows the scripts and whose connection is open, so that the
// proxy's next chunk is the next reply.
func throughProxy(t *testing.T, opts ...redislock.Option) faulty {
	t.Helper()
	return throughProxyWith(t, redis.UniversalOptions{ReadTimeout: 5 * time.Second}, opts...)
}

func throughProxyWith(t *testing.T, options redis.UniversalOptions, opts ...redislock.Option) faulty {
	t.Helper()
	address := testserver.Redis(t)
	proxy := faultproxy.New(t, address)
	options.Addrs = []string{proxy.Addr()}
	f := faulty{locker(t, connect(t, &options), opts...), proxy, single(t, address)}
	if _, err := f.RunOnce(within(t, soon), lock.NewKey("warm"), time.Millisecond, func(ctx context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return f
}

// wantGone wants that the lock's Redis key is soon away, long before its TTL.
func (f faulty) wantGone(t *testing.T, key lock.Key, since time.Time) {
	t.Helper()
	eventually(t, "the key of "+key.String()+" is deleted", func() bool {
		return f.admin.Exists(context.Background(), name(key)).Val() == 0
	})
	t.Logf("gone %v after the server could be reached", time.Since(since).Round(time.Millisecond))
}

var longTTL = ttl(time.Hour)

func TestAcquireWhoseReplyIsLostIsGrantedWithTheSameFencingToken(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL, redislock.Fencing())
	key := lock.NewKey("fault")
	before := acquire(t, f.Locker, key)
	if err := before.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.proxy.DropReplies(1)
	h := acquire(t, f.Locker, key, lock.Try())
	if f.proxy.Dropping() != 0 {
		t.Fatal("no reply was lost")
	}
	if got, want := h.Token(), before.Token()+1; got != want {
		t.Errorf("token %d after one that was %d", got, before.Token())
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	f.wantGone(t, key, time.Now())
}

// Every reply is lost, so that the acquire fails while the server holds the lock.
func TestAcquireThatFailsLeavesNothingOnceTheServerIsReached(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	key := lock.NewKey("fault")
	f.proxy.RefuseNew(true)
	f.proxy.DropReplies(1)
	h, err := f.Acquire(within(t, soon), key)
	if err == nil {
		t.Fatalf("acquired %v through a proxy that lets nobody in", h.Keys())
	}
	if n := f.admin.Exists(t.Context(), name(key)).Val(); n != 1 {
		t.Fatal("the server did not grant the lock, so that the test shows nothing")
	}
	start := time.Now()
	f.proxy.RefuseNew(false)
	f.wantGone(t, key, start)
}

func TestAcquireWhoseContextEndsDuringTheCallReturnsAtOnceAndLeavesNothing(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	key := lock.NewKey("fault")
	f.proxy.Delay(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond) // the request has arrived, the reply has not
	defer cancel()
	_, err := f.Acquire(ctx, key)
	late := time.Since(deadline(ctx))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrTimeout) {
		t.Errorf("%v, want ErrTimeout and DeadlineExceeded", err)
	}
	t.Logf("returned %v after the deadline", late)
	f.proxy.Delay(0)
	f.wantGone(t, key, time.Now())
}

func deadline(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}

// longSilence is for how long a client waits for a reply in a blackhole: longer than any context, and than anybody
// who does not wait for it may take.
const longSilence = time.Minute

// doesNotWait wants that a call returns after its end, and long before the end of the silence.
func doesNotWait(t *testing.T, call func() (late time.Duration)) {
	t.Helper()
	late := call()
	t.Logf("late by %v", late)
	if late >= longSilence/2 {
		t.Errorf("late by %v: it waited for a reply", late)
	}
}

// A client whose sockets heed a context's deadline.
func TestAReleaseWithContextTimeoutsDoesNotOverrunItsTimeEither(t *testing.T) {
	noLeaks(t)
	const patience = 200 * time.Millisecond
	f := throughProxyWith(t, redis.UniversalOptions{ReadTimeout: longSilence, ContextTimeoutEnabled: true},
		longTTL, redislock.Defaults(lock.ReleaseTimeout(patience)))
	for name, before := range map[string]func(){"open": func() {}, "new": f.proxy.Cut} {
		t.Run(name+" connection", func(t *testing.T) {
			f.releaseInABlackhole(t, lock.NewKey("release"), patience, before)
		})
	}
}

// releaseInABlackhole wants that a release ends with its patience.
func (f faulty) releaseInABlackhole(t *testing.T, key lock.Key, patience time.Duration, before func()) {
	t.Helper()
	doesNotWait(t, func() time.Duration {
		h := acquire(t, f.Locker, key)
		before()
		f.proxy.Blackhole(true)
		start := time.Now()
		if err := h.Release(t.Context()); !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("%v, want ErrUnconfirmed", err)
		}
		took := time.Since(start)
		f.proxy.Blackhole(false)
		f.wantGone(t, key, time.Now())
		return took - patience
	})
}

func TestNothingOverrunsItsContextInABlackhole(t *testing.T) {
	noLeaks(t)
	const patience = 200 * time.Millisecond
	f := throughProxyWith(t, redis.UniversalOptions{ReadTimeout: longSilence}, longTTL, redislock.Defaults(lock.ReleaseTimeout(patience)))
	t.Run("acquire", func(t *testing.T) {
		f.proxy.Blackhole(true)
		defer f.proxy.Blackhole(false)
		doesNotWait(t, func() time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := f.Acquire(ctx, lock.NewKey("acquire")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
			return time.Since(deadline(ctx))
		})
	})
	t.Run("acquire that is cancelled", func(t *testing.T) {
		f.proxy.Blackhole(true)
		defer f.proxy.Blackhole(false)
		doesNotWait(t, func() time.Duration {
			ctx, cancel := context.WithCancel(t.Context())
			var cancelled time.Time
			time.AfterFunc(50*time.Millisecond, func() { cancelled = time.Now(); cancel() })
			if _, err := f.Acquire(ctx, lock.NewKey("cancel")); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want Canceled", err)
			}
			return time.Since(cancelled)
		})
	})
	t.Run("check", func(t *testing.T) {
		h := acquire(t, f.Locker, lock.NewKey("check"))
		f.proxy.Blackhole(true)
		doesNotWait(t, func() time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := h.Check(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lock.ErrLost) {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
			return time.Since(deadline(ctx))
		})
		f.proxy.Blackhole(false)
		h.Release(t.Context())
	})
	t.Run("release", func(t *testing.T) {
		f.releaseInABlackhole(t, lock.NewKey("release"), patience, func() {})
	})
	t.Run("release on a new connection", func(t *testing.T) {
		f.releaseInABlackhole(t, lock.NewKey("release"), patience, f.proxy.Cut)
	})
}

func TestReleaseWhoseReplyIsLostIsUnconfirmedAndDone(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	key := lock.NewKey("fault")
	h := acquire(t, f.Locker, key)
	f.proxy.DropReplies(1)
	if err := h.Release(t.Context()); !errors.Is(err, lock.ErrUnconfirmed) || errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("%v, want ErrUnconfirmed", err)
	}
	if n := f.admin.Exists(t.Context(), name(key)).Val(); n != 0 {
		t.Error("the lock is still there")
	}
}

func TestReleaseOfADeletedLockIsNotHeld(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	key := lock.NewKey("fault")
	h := acquire(t, f.Locker, key)
	f.admin.Del(t.Context(), name(key))
	if err := h.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("%v, want ErrNotHeld", err)
	}
}

// The release never reaches the server in time; it goes on in the background.
func TestReleaseThatFailsGoesOnUntilTheServerIsReached(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL, redislock.Defaults(lock.ReleaseTimeout(300*time.Millisecond)))
	key := lock.NewKey("fault")
	h := acquire(t, f.Locker, key)
	f.proxy.RefuseNew(true)
	f.proxy.Reset()
	if err := h.Release(t.Context()); !errors.Is(err, lock.ErrUnconfirmed) {
		t.Errorf("%v, want ErrUnconfirmed", err)
	}
	start := time.Now()
	f.proxy.RefuseNew(false)
	f.wantGone(t, key, start)
}

func lostRenewals(t *testing.T) {
	f := throughProxy(t, ttl(6*time.Second))
	oneOfSeveral(t, func() error {
		h := acquire(t, f.Locker, lock.NewKey("fault"))
		defer f.proxy.DropReplies(0)
		for range 3 {
			f.proxy.DropReplies(1)
			eventually(t, "a reply is lost", func() bool { return f.proxy.Dropping() == 0 || h.Guard() != nil })
		}
		return errors.Join(h.Check(within(t, soon)), h.Release(t.Context()))
	})
}

func TestClaimWhoseReplyIsLostIsStillOurs(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	ran, err := f.RunOnce(within(t, soon), lock.NewKey("claim"), time.Hour, func(context.Context) error { return nil })
	if !ran || err != nil {
		t.Fatalf("%v, %v", ran, err)
	}
	f.proxy.DropRepliesAfter(1, 1) // the acquire's passes
	ran, err = f.RunOnce(within(t, soon), lock.NewKey("another claim"), time.Hour, func(context.Context) error { return nil })
	if !ran || err != nil || f.proxy.Dropping() != 0 {
		t.Errorf("ran %v, %v, %d replies still to be lost", ran, err, f.proxy.Dropping())
	}
}

func TestDoAllThatFailsAtALaterKeyFreesTheFirst(t *testing.T) {
	noLeaks(t)
	f := throughProxy(t, longTTL)
	a, b := lock.NewKey("a"), lock.NewKey("b")
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	other := locker(t, f.admin, longTTL)
	busy := acquire(t, other, b)
	_, err := f.AcquireAll(within(t, soon), []lock.Key{a, b}, lock.Try())
	if !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("%v, want ErrNotAcquired", err)
	}
	if n := f.admin.Exists(t.Context(), name(a)).Val(); n != 0 {
		t.Error("the first key is held after the failure")
	}
	busy.Release(t.Context())
}

func theFirstKeyIsKeptWhileTheSecondIsWaitedFor(t *testing.T) {
	const life = 3 * time.Second
	l, admin := onServer(t, longTTL)
	a, b := lock.NewKey("a"), lock.NewKey("b")
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	other := locker(t, admin, longTTL)
	oneOfSeveral(t, func() error {
		busy := acquire(t, other, b)
		got := make(chan error)
		go func() {
			h, err := l.AcquireAll(within(t, soon), []lock.Key{a, b}, lock.TTL(life))
			if err == nil {
				err = h.Release(t.Context())
			}
			got <- err
		}()
		eventually(t, "the first key is taken", func() bool { return admin.Exists(t.Context(), name(a)).Val() == 1 })
		value := admin.Get(t.Context(), name(a)).Val()
		var changed error
		for end := time.Now().Add(life + life/4); changed == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if now := admin.Get(t.Context(), name(a)).Val(); now != value {
				changed = fmt.Errorf("while the second is waited for, the first key has %q instead of %q", now, value)
			}
		}
		busy.Release(t.Context())
		return errors.Join(changed, <-got)
	})
}

func TestCloseDoesNotWaitForEverForASilentServer(t *testing.T) {
	noLeaks(t)
	f := throughProxyWith(t, redis.UniversalOptions{ReadTimeout: longSilence}, longTTL, redislock.Defaults(lock.ReleaseTimeout(200*time.Millisecond)))
	f.proxy.Blackhole(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f.Acquire(ctx, lock.NewKey("close"))
	doesNotWait(t, func() time.Duration {
		start := time.Now()
		err := f.Close()
		if err == nil {
			t.Error("closed with a call under way, and did not say so")
		}
		fmt.Fprintln(t.Output(), err)
		return time.Since(start)
	})
	f.proxy.Blackhole(false)
	f.proxy.Cut() // ends what the client waits for
}
