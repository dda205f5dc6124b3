package redislock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// The floor of a lock on this client: two scripts, one after the other.
func BenchmarkTwoRawScripts(b *testing.B) {
	client := single(b, testserver.Redis(b))
	ctx := context.Background()
	take := redis.NewScript("if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return {1, 0} end return {0, redis.call('PTTL', KEYS[1])}")
	free := redis.NewScript("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
	for _, s := range []*redis.Script{take, free} {
		if err := s.Load(ctx, client).Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := take.EvalSha(ctx, client, []string{"raw"}, "token", 30000).Err(); err != nil {
			b.Fatal(err)
		}
		if n, err := free.EvalSha(ctx, client, []string{"raw"}, "token").Int(); n != 1 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkAcquireAndRelease(b *testing.B) {
	client := single(b, testserver.Redis(b))
	ctx := context.Background()
	l := locker(b, client)
	key := lock.NewKey("bench", "one")
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Acquire(ctx, key)
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
