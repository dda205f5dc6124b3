package redislock_test

import (
	"sync/atomic"
	"testing"
	"time"
)

// watchStalls logs at the end for how long this process did not run at most: what a lease of its own
// would have suffered.
func watchStalls(t *testing.T) {
	t.Helper()
	var worst atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		const tick = 10 * time.Millisecond
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-time.After(tick):
			}
			now := time.Now()
			worst.Store(max(worst.Load(), int64(now.Sub(last)-tick)))
			last = now
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		t.Logf("the longest stall of this process: %v", time.Duration(worst.Load()).Round(time.Millisecond))
	})
}
