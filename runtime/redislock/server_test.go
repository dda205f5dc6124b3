package redislock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// soon bounds what must happen, so that a loaded machine fails no test.
const soon = 20 * time.Second

var firstServer sync.Once

// noLeaks fails the test if a goroutine is left after everything that is registered later has ended.
func noLeaks(t *testing.T) {
	t.Helper()
	firstServer.Do(func() { testserver.Redis(t) }) // starts what package testserver keeps
	goroutines.Verify(t)
}

// connect makes a client that is closed at the end.
func connect(tb testing.TB, options *redis.UniversalOptions) redis.UniversalClient {
	tb.Helper()
	client := redis.NewUniversalClient(options)
	tb.Cleanup(func() { client.Close() })
	return client
}

// single makes a client of one server.
func single(tb testing.TB, address string) redis.UniversalClient {
	tb.Helper()
	return connect(tb, &redis.UniversalOptions{Addrs: []string{address}})
}

// locker makes a Locker that is closed at the end unless the test has closed it.
func locker(tb testing.TB, client redis.UniversalClient, opts ...redislock.Option) *redislock.Locker {
	tb.Helper()
	l, err := redislock.New(client, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

func ttl(d time.Duration) redislock.Option { return redislock.Defaults(lock.TTL(d)) }

func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// acquire takes a lock.
func acquire(tb testing.TB, l *redislock.Locker, key lock.Key, opts ...lock.Option) *lock.Handle {
	tb.Helper()
	h, err := l.Acquire(within(tb, soon), key, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// eventually waits until done.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", soon, what)
		}
	}
}

// oneOfSeveral wants that a try succeeds: one whose lease has to be renewed fails on a machine that stalls for as
// long as the lease lasts, whatever the lock does, but not each time. What went wrong is logged.
func oneOfSeveral(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 6 {
		if err = try(); err == nil {
			return
		}
		t.Logf("a try failed: %v", err)
	}
	t.Errorf("each try failed, the last with: %v", err)
}

// keys are the names of all keys of a server.
func keys(tb testing.TB, client redis.Cmdable) []string {
	tb.Helper()
	names, err := client.Keys(context.Background(), "*").Result()
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// ended waits for the end of a handle's context, and gives its cause.
func ended(tb testing.TB, h *lock.Handle) error {
	tb.Helper()
	select {
	case <-h.Context().Done():
		return context.Cause(h.Context())
	case <-time.After(soon):
		tb.Fatalf("the handle's context did not end within %v", soon)
		return nil
	}
}
