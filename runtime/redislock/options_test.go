package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// nowhere is a client that sends nothing anywhere, for what fails before.
func nowhere(t *testing.T) redis.UniversalClient { return single(t, "127.0.0.1:1") }

func TestOptionsThatCannotBeRightAreRefused(t *testing.T) {
	noLeaks(t)
	for name, make := range map[string]func() (*redislock.Locker, error){
		"no client":         func() (*redislock.Locker, error) { return redislock.New(nil) },
		"brace in a prefix": func() (*redislock.Locker, error) { return redislock.New(nowhere(t), redislock.KeyPrefix("{x}:")) },
		"TTL of nothing":    func() (*redislock.Locker, error) { return redislock.New(nowhere(t), ttl(0)) },
	} {
		if l, err := make(); l != nil || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v, %v; want ErrInvalid", name, l, err)
		}
	}
}

func TestShortTTLIsRefused(t *testing.T) {
	noLeaks(t)
	l := locker(t, single(t, testserver.Redis(t)))
	key := lock.NewKey("ttl")
	for _, d := range []time.Duration{time.Nanosecond, time.Millisecond, 99 * time.Millisecond} {
		if h, err := l.Acquire(within(t, soon), key, lock.TTL(d)); h != nil || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("TTL %v: %v, %v; want ErrInvalid", d, h, err)
		}
	}
	h := acquire(t, l, key, lock.TTL(redislock.MinTTL))
	h.Release(t.Context()) // a loaded machine may have lost so short a lease
}

func TestSharedLocksAreUnsupported(t *testing.T) {
	noLeaks(t)
	l := locker(t, nowhere(t))
	if _, err := l.Acquire(within(t, soon), lock.NewKey("shared"), lock.Shared()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want ErrUnsupported", err)
	}
}

func TestLockersOfDifferentPrefixesDoNotMeet(t *testing.T) {
	noLeaks(t)
	client := single(t, testserver.Redis(t))
	key := lock.NewKey("prefix")
	first := acquire(t, locker(t, client), key)
	second := acquire(t, locker(t, client, redislock.KeyPrefix("app:")), key, lock.Try())
	want := map[string]bool{redislock.DefaultPrefix + key.HashTag(): true, "app:" + key.HashTag(): true}
	if got := keys(t, client); len(got) != 2 || !want[got[0]] || !want[got[1]] {
		t.Errorf("keys %q", got)
	}
	for _, h := range []*lock.Handle{first, second} {
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseLeavesTheClientOpen(t *testing.T) {
	noLeaks(t)
	client := single(t, testserver.Redis(t))
	l := locker(t, client)
	if err := acquire(t, l, lock.NewKey("close")).Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}
