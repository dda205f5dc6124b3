package redislock

import (
	"context"
	"math/rand/v2"
	"time"
)

// While the lock is held by another, pauses grow from the first to the last of these.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 64 * time.Millisecond
)

// backoff is the pause after a try, the first being 0: exponential with full jitter. It depends on
// nothing but the number of the try and a random number in [0, 1), so that no waiter is slowed down by
// what happened to others or before.
func backoff(try int, random float64) time.Duration {
	longest := lastPause
	if try < 5 { // 2 ms << 5 = 64 ms
		longest = firstPause << max(try, 0)
	}
	return time.Duration(random * float64(longest))
}

func jitter() float64 { return rand.Float64() }

// sleep waits, or gives the cause as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
