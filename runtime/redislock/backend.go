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
	workers  workers

	running sync.WaitGroup     // every goroutine that is under way
	closing chan struct{}      // closed when Close begins
	life    context.Context    // of what no caller waits for; ends before Close does
	end     context.CancelFunc // of life
	patient atomic.Int64       // the longest ReleaseTimeout that was asked for
	hurried sync.Map           // time.Duration to the client with these timeouts
}

var (
	_ lock.Backend = (*backend)(nil)
	_ lock.Claimer = (*backend)(nil)
)

func newBackend(client redis.UniversalClient, s settings) *backend {
	b := &backend{client: client, prefix: s.prefix, fencing: s.fencing, closing: make(chan struct{})}
	b.life, b.end = context.WithCancel(context.Background())
	b.renewals = newRenewals(b)
	b.workers = workers{running: &b.running, jobs: make(chan func()), stop: b.closing}
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

// bounded is the client, with shorter timeouts of its sockets where go-redis offers that. False says
// that it does not: for a cluster and a ring their own timeouts count.
func (b *backend) bounded(timeout time.Duration) (redis.UniversalClient, bool) {
	c, ok := b.client.(*redis.Client)
	if !ok {
		return b.client, false
	}
	if o := c.Options(); o.ReadTimeout > 0 && o.ReadTimeout <= timeout && o.WriteTimeout > 0 && o.WriteTimeout <= timeout {
		return c, true
	}
	same, ok := b.hurried.Load(timeout)
	if !ok {
		same, _ = b.hurried.LoadOrStore(timeout, c.WithTimeout(timeout)) // it shares the pool of c
	}
	return same.(*redis.Client), true
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
	case <-time.After(lastPause):
		return fmt.Errorf("redis: close: calls are still waiting for the server after %v", bound)
	}
}
