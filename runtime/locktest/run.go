package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Run tests that a backend does what package lock promises, one subtest for each behaviour. After each,
// no key is granted any more, and no goroutine is left that was not there before: so they don't run
// in parallel.
func Run(t *testing.T, b Backend) {
	if b.Patience == 0 {
		b.Patience = 20 * time.Second
	}
	for _, group := range [][]behaviour{
		exclusion, waiting, cancelling, holding, releasing, losing, nesting, several, sharing, queueing,
		closing, naming, fencing, once, electing, observing,
	} {
		for _, one := range group {
			t.Run(one.name, func(t *testing.T) { one.run(t, b) })
		}
	}
}

// A behaviour is one thing that a backend does, and the test of it.
type behaviour struct {
	name string
	test func(*suite)
}

func (one behaviour) run(t *testing.T, b Backend) {
	running := append([]goleak.Option{goleak.IgnoreCurrent()}, b.Goroutines...)
	// Registered first, so that it runs when every Locker and every pool is closed.
	t.Cleanup(func() { goroutines.WantGone(t, b.Patience, running...) })
	s := &suite{T: t, b: b}
	one.test(s)
	// Before the pools are closed: that would free what is left on an idle connection.
	for _, k := range s.keys {
		s.wantFree(k)
	}
}

// suite is one subtest.
type suite struct {
	*testing.T
	b    Backend
	keys []lock.Key
}

// locker makes a Locker that is closed at the end, unless the test has closed it.
func (s *suite) locker(opts ...lock.Option) *lock.Locker {
	s.Helper()
	if s.b.TTL > 0 {
		opts = append([]lock.Option{lock.TTL(s.b.TTL)}, opts...)
	}
	l := s.b.New(s, opts...)
	s.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, lock.ErrClosed) {
			s.Errorf("close: %v", err)
		}
	})
	return l
}

var (
	process = strconv.FormatUint(rand.Uint64(), 36)
	made    atomic.Int64
)

// key is one that no other test has, in this process or another, also when a test is run again: a claim lasts.
func (s *suite) key() lock.Key {
	k := lock.NewKey("locktest", process, s.Name(), strconv.FormatInt(made.Add(1), 10))
	s.keys = append(s.keys, k)
	return k
}

// ctx ends when the suite loses patience, with the test at the latest.
func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), s.b.Patience)
	s.Cleanup(cancel)
	return ctx
}

func (s *suite) acquire(l *lock.Locker, k lock.Key, opts ...lock.Option) *lock.Handle {
	s.Helper()
	return s.acquireAll(l, []lock.Key{k}, opts...)
}

func (s *suite) acquireAll(l *lock.Locker, keys []lock.Key, opts ...lock.Option) *lock.Handle {
	s.Helper()
	h, err := l.AcquireAll(s.ctx(), keys, opts...)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	return h
}

func (s *suite) release(h *lock.Handle) {
	s.Helper()
	if err := h.Release(s.ctx()); err != nil {
		s.Errorf("release: %v", err)
	}
}

// wantTakes wants that l can take k, be it after a moment, and lets it go again.
func (s *suite) wantTakes(l *lock.Locker, k lock.Key) {
	s.Helper()
	s.release(s.acquire(l, k))
}

// wantBusy wants that l can't take k now.
func (s *suite) wantBusy(l *lock.Locker, k lock.Key, opts ...lock.Option) {
	s.Helper()
	h, err := l.Acquire(s.ctx(), k, append(opts, lock.Try())...)
	s.want(err, lock.ErrNotAcquired)
	if err == nil {
		s.release(h)
	}
}

// wantFreeNow wants that l can take k at once, and lets it go again.
func (s *suite) wantFreeNow(l *lock.Locker, k lock.Key) {
	s.Helper()
	s.release(s.acquire(l, k, lock.Try()))
}

// wantFree wants that the server soon has no grant of k.
func (s *suite) wantFree(k lock.Key) {
	s.Helper()
	n := 0
	if !s.eventually(func() bool { n = s.b.Grants(s, k); return n == 0 }) {
		s.Errorf("%d grants of %q are left at the server", n, k)
	}
}

func (s *suite) wantGrants(k lock.Key, want int) {
	s.Helper()
	if n := s.b.Grants(s, k); n != want {
		s.Errorf("%d grants of %q at the server, want %d", n, k, want)
	}
}

// want wants that err wraps every target; without targets, that it is nil.
func (s *suite) want(err error, targets ...error) {
	s.Helper()
	if len(targets) == 0 && err != nil {
		s.Errorf("error %v, want none", err)
	}
	for _, target := range targets {
		if !errors.Is(err, target) {
			s.Errorf("error %v, want one that wraps %q", err, target)
		}
	}
}

// wantOneOf wants that err wraps at least one of the targets.
func (s *suite) wantOneOf(err error, targets ...error) {
	s.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	s.Errorf("error %v, want one that wraps one of %q", err, targets)
}

// wantLive wants that a context goes on for a moment.
func (s *suite) wantLive(ctx context.Context) {
	s.Helper()
	select {
	case <-ctx.Done():
		s.Errorf("the context ended: %v", context.Cause(ctx))
	case <-time.After(50 * time.Millisecond):
	}
}

// wantEnd wants that a context ends, and that its cause wraps the targets.
func (s *suite) wantEnd(ctx context.Context, targets ...error) {
	s.Helper()
	select {
	case <-ctx.Done():
		s.want(context.Cause(ctx), targets...)
	case <-time.After(s.b.Patience):
		s.Fatal("the context did not end")
	}
}

// eventually reports whether done becomes true before the suite loses patience.
func (s *suite) eventually(done func() bool) bool {
	for deadline := time.Now().Add(s.b.Patience); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// soon wants that what is done takes no longer than a bound, at least once before the suite loses patience: a
// loaded machine delays it, but not each time.
func (s *suite) soon(what string, bound time.Duration, do func() time.Duration) {
	s.Helper()
	var last time.Duration
	tries := 0
	done := s.eventually(func() bool {
		tries, last = tries+1, do()
		return last <= bound || s.Failed()
	})
	s.Logf("%s: %v, at try %d", what, last, tries)
	if !done {
		s.Errorf("%s takes more than %v, each of %d times", what, bound, tries)
	}
}

// receive waits for a value from what runs beside the test.
func receive[T any](s *suite, from <-chan T, what string) T {
	s.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(s.b.Patience):
		s.Fatalf("no %s", what)
		panic("not reached")
	}
}

// outcome is what an acquire that runs beside the test gave.
type outcome struct {
	h    *lock.Handle
	err  error
	took time.Duration
}

// try starts an acquire beside the test.
func try(ctx context.Context, l *lock.Locker, k lock.Key, opts ...lock.Option) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		start := time.Now()
		h, err := l.Acquire(ctx, k, opts...)
		result <- outcome{h, err, time.Since(start)}
	}()
	return result
}

// wantGrant wants that one of those who wait beside the test is granted the lock, and lets it go again.
func (s *suite) wantGrant(from <-chan outcome) {
	s.Helper()
	o := receive(s, from, "grant")
	if s.want(o.err); o.err == nil {
		s.release(o.h)
	}
}

// inside counts who is in a critical section of this process.
type inside struct {
	mu        sync.Mutex
	now, most int
}

func (i *inside) enter() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now++
	i.most = max(i.most, i.now)
}

func (i *inside) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now--
}

// peak is how many were inside at once, at most.
func (i *inside) peak() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.most
}

// all runs n functions at once and gives the first of their errors.
func all(n int, do func(i int) error) error {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = do(i) })
	}
	running.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("number %d of %d: %w", i, n, err)
		}
	}
	return nil
}
