package redislock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// The floor of a lock on a client: two scripts by their digest, one after the other.
var (
	rawTake = redis.NewScript(`if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return {1, 0} end
return {0, redis.call('PTTL', KEYS[1])}`)
	rawFree = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)
)

// BenchmarkCycle takes and releases an uncontended lock, in turn with the floor, so that a machine that
// is busy is so for both. It reports the medians and their ratio.
func BenchmarkCycle(b *testing.B) {
	client := single(b, testserver.Redis(b))
	ctx := context.Background()
	for _, s := range []*redis.Script{rawTake, rawFree} {
		if err := s.Load(ctx, client).Err(); err != nil {
			b.Fatal(err)
		}
	}
	l := locker(b, client)
	key := lock.NewKey("bench", "cycle")
	cycles := []func() error{
		func() error {
			if err := rawTake.EvalSha(ctx, client, []string{"raw"}, "token", 30000).Err(); err != nil {
				return err
			}
			return rawFree.EvalSha(ctx, client, []string{"raw"}, "token").Err()
		},
		func() error {
			h, err := l.Acquire(ctx, key)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		},
	}
	took := make([][]time.Duration, len(cycles))
	for b.Loop() {
		for i, cycle := range cycles {
			start := time.Now()
			if err := cycle(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2].Nanoseconds())
	}
	raw, locked := median(0), median(1)
	b.ReportMetric(raw, "raw-ns/cycle")
	b.ReportMetric(locked, "lock-ns/cycle")
	b.ReportMetric(locked/raw, "lock/raw")
}

func BenchmarkAcquireAndRelease(b *testing.B) {
	l := locker(b, single(b, testserver.Redis(b)))
	key := lock.NewKey("bench", "one")
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Acquire(b.Context(), key)
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
