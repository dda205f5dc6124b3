package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// MinTTL is the shortest TTL that is taken: below it, an ordinary delay of the network or of the
// process costs the lock. Shorter ones are lock.ErrInvalid.
const MinTTL = 100 * time.Millisecond

// backend is a lock.Backend and a lock.Claimer.
type backend struct {
	client   redis.UniversalClient
	prefix   prefix
	fencing  bool
	renewals *renewals
	workers  *workers

	running sync.WaitGroup     // every goroutine that is under way
	closing chan struct{}      // closed when Close begins
	life    context.Context    // of what no caller waits for; ends before Close does
	end     context.CancelFunc // of life
	patient atomic.Int64       // the longest ReleaseTimeout that was asked for
}

var (
	_ lock.Backend = (*backend)(nil)
	_ lock.Claimer = (*backend)(nil)
)

func newBackend(client redis.UniversalClient, s settings) *backend {
	b := &backend{client: client, prefix: s.prefix, fencing: s.fencing, closing: make(chan struct{})}
	b.life, b.end = context.WithCancel(context.Background())
	b.renewals = newRenewals(b)
	b.workers = newWorkers(&b.running)
	return b
}

func (b *backend) Name() string { return "redis" }

// Acquire takes the keys one after the other: in a cluster they live on different servers, and no
// script reaches them all. What is taken is renewed while the rest is waited for.
func (b *backend) Acquire(ctx context.Context, request lock.Request) (lock.Hold, error) {
	switch {
	case request.Shared:
		return nil, fmt.Errorf("shared lock: %w", errors.ErrUnsupported)
	case request.TTL < MinTTL:
		return nil, fmt.Errorf("%w: TTL %v is shorter than %v", lock.ErrInvalid, request.TTL, MinTTL)
	}
	b.patience(request.ReleaseTimeout)
	h := newHold(b, request)
	until := time.Now().Add(request.Wait)
	for _, l := range h.leases {
		if err := b.take(ctx, l, until); err != nil {
			h.drop(ctx)
			return nil, err
		}
	}
	if err := h.grant(); err != nil {
		h.drop(ctx)
		return nil, err
	}
	return h, nil
}

// Claim remembers a run under a marker that expires.
func (b *backend) Claim(ctx context.Context, key lock.Key, every time.Duration) (bool, error) {
	token := rand.Text()
	c := b.workers.call(func() reply {
		return claimScript.run(ctx, b.client, someTries, []string{b.prefix.beside(key, markerName)}, token, milliseconds(every))
	})
	r, ok := c.wait(ctx)
	if !ok {
		return false, context.Cause(ctx)
	}
	n, err := r.Int64()
	return n == 1, err
}

// milliseconds rounds up, so that nothing becomes 0.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// patience remembers how long Close may have to wait.
func (b *backend) patience(d time.Duration) {
	for {
		was := b.patient.Load()
		if int64(d) <= was || b.patient.CompareAndSwap(was, int64(d)) {
			return
		}
	}
}

// Close waits for what is still to be cleaned up, for as long as a release may take. What a client is
// still waiting for then ends with the client's own timeouts.
func (b *backend) Close() error {
	close(b.closing)
	b.renewals.close()
	b.workers.close()
	done := make(chan struct{})
	go func() { b.running.Wait(); close(done) }()
	defer b.end()
	bound := time.Duration(b.patient.Load())
	select {
	case <-done:
		return nil
	case <-time.After(bound):
	}
	b.end()
	select {
	case <-done:
		return nil
	case <-time.After(lastRetry):
		return fmt.Errorf("redis: close: calls are still waiting for the server after %v", bound)
	}
}
