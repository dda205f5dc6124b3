package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

func TestSuiteOnOneServer(t *testing.T) {
	address := testserver.Redis(t)
	locktest.Run(t, suite(t, &redis.UniversalOptions{Addrs: []string{address}}))
}

// name is the Redis key of a lock.
func name(key lock.Key) string {
	if literal, ok := key.Literal(); ok {
		return literal
	}
	return redislock.DefaultPrefix + key.HashTag()
}

// suite describes redislock to the suite of all backends.
func suite(t *testing.T, servers *redis.UniversalOptions) locktest.Backend {
	admin := connect(t, servers)
	if err := admin.Ping(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	return locktest.Backend{
		New: func(tb testing.TB, opts ...lock.Option) *lock.Locker {
			l, err := redislock.New(connect(tb, servers), redislock.Fencing(), redislock.Defaults(opts...))
			if err != nil {
				tb.Fatal(err)
			}
			return l.Locker
		},
		Grants: func(tb testing.TB, key lock.Key) int {
			n, err := admin.Exists(context.Background(), name(key)).Result()
			if err != nil {
				tb.Fatal(err)
			}
			return int(n)
		},
		Break: func(tb testing.TB, key lock.Key) {
			if n, err := admin.Del(context.Background(), name(key)).Result(); n != 1 || err != nil {
				tb.Fatalf("delete of the lock: %d, %v", n, err)
			}
		},
		TTL:     2 * time.Second, // longer than a loaded machine stalls
		Lost:    time.Second,     // a renewal, every third of the TTL, hears of it
		Fencing: true,
		Claims:  true,
	}
}
