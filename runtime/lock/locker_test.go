package lock

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// local is a server inside the test: what the package does by itself shows without one. What real
// servers do is tested with the backends.
type local struct {
	mu      sync.Mutex
	owner   map[Key]*localHold
	asked   []Request
	tokens  int64
	lease   time.Duration
	acquire func(ctx context.Context, r Request) error // before the grant
	release func(ctx context.Context) error
	check   error
	closed  bool
	claimed map[Key]time.Time
}

type localHold struct {
	server   *local
	keys     []Key
	token    int64
	deadline time.Time
}

func (s *local) Name() string { return "local" }

func (s *local) Acquire(ctx context.Context, r Request) (Hold, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	if s.acquire != nil {
		if err := s.acquire(ctx, r); err != nil {
			return nil, err
		}
	}
	var over <-chan time.Time
	if r.Wait > 0 {
		over = time.After(r.Wait)
	}
	for {
		if h := s.grant(r); h != nil {
			return h, nil
		}
		if r.Wait == 0 {
			return nil, ErrNotAcquired
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over:
			return nil, ErrTimeout
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *local) grant(r Request) *localHold {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range r.Keys {
		if s.owner[k] != nil {
			return nil
		}
	}
	s.tokens++
	h := &localHold{server: s, keys: r.Keys, token: s.tokens}
	if s.lease > 0 {
		h.deadline = time.Now().Add(s.lease)
	}
	for _, k := range r.Keys {
		if s.owner == nil {
			s.owner = map[Key]*localHold{}
		}
		s.owner[k] = h
	}
	return h
}

func (s *local) Claim(_ context.Context, key Key, every time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.claimed[key]; ok && time.Since(last) < every {
		return false, nil
	}
	if s.claimed == nil {
		s.claimed = map[Key]time.Time{}
	}
	s.claimed[key] = time.Now()
	return true, nil
}

func (s *local) Close() error { s.closed = true; return nil }

func (s *local) lastRequest() Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

func (h *localHold) Tokens() []int64 {
	tokens := make([]int64, len(h.keys))
	for i := range tokens {
		tokens[i] = h.token + int64(i)*1000
	}
	return tokens
}
func (h *localHold) Deadline() time.Time         { return h.deadline }
func (h *localHold) Check(context.Context) error { return h.server.check }
func (h *localHold) Release(ctx context.Context) error {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	for _, k := range h.keys {
		delete(h.server.owner, k)
	}
	if h.server.release != nil {
		return h.server.release(ctx)
	}
	return nil
}

func newLocal(t *testing.T, opts ...Option) (*Locker, *local) {
	t.Helper()
	server := &local{}
	l, err := New(server, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l, server
}

var keyA, keyB = NewKey("test", "a"), NewKey("test", "b")

func TestWaitersOfOneProcessAreServedInOrderAndOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		first, err := l.Acquire(t.Context(), keyA)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := l.Do(t.Context(), keyA, func(context.Context) error { order = append(order, i); return nil }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // i is in the queue before i+1 comes
		}
		if len(server.asked) != 1 {
			t.Errorf("%d asked the server while one held the lock", len(server.asked))
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("order is %v", order)
			}
		}
		if len(order) != 20 || len(l.queues.byKey) != 0 {
			t.Errorf("%d served, %d queues left", len(order), len(l.queues.byKey))
		}
	})
}

func TestWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLocal(t)
		defer l.Close()
		first, _ := l.Acquire(t.Context(), keyA)
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("changed my mind")
		go func() { time.Sleep(time.Second); cancel(reason) }()
		if _, err := l.Acquire(ctx, keyA); !errors.Is(err, reason) {
			t.Errorf("cancelled waiter: %v", err)
		}
		if _, err := l.Acquire(t.Context(), keyA, Wait(time.Second)); !errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("bounded waiter: %v", err)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := l.Acquire(short, keyA); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiter with a deadline: %v", err)
		}
		if _, err := l.Acquire(t.Context(), keyA, Try()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("try: %v", err)
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if len(l.queues.byKey) != 0 || len(l.handles) != 0 {
			t.Errorf("%d queues and %d handles left", len(l.queues.byKey), len(l.handles))
		}
	})
}

// The moment at which a turn comes and its waiter gives up is swept over by many tries.
func TestTurnIsNotLostWhenItsWaiterGivesUpAtThatMoment(t *testing.T) {
	l, _ := newLocal(t)
	defer l.Close()
	for range 2000 {
		first, err := l.Acquire(t.Context(), keyA)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if h, err := l.Acquire(ctx, keyA); err == nil {
				_ = h.Release(ctx)
			}
		})
		wg.Go(cancel)
		wg.Go(func() { _ = first.Release(t.Context()) })
		wg.Wait()
	}
	h, err := l.Acquire(t.Context(), keyA, Wait(10*time.Second))
	if err != nil {
		t.Fatalf("the queue is stuck: %v", err)
	}
	_ = h.Release(t.Context())
}

func TestServerIsToldWhatIsLeftOfTheTimeToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		within := func(what string, least, most time.Duration) {
			t.Helper()
			if w := server.lastRequest().Wait; w < least || w > most {
				t.Errorf("%s: the server was told %v", what, w)
			}
		}
		acquire := func(ctx context.Context, opts ...Option) {
			h, err := l.Acquire(ctx, keyA, opts...)
			if err != nil {
				t.Fatal(err)
			}
			_ = h.Release(ctx)
		}
		acquire(t.Context())
		within("no bound", forever, forever)
		acquire(t.Context(), Try())
		within("try", 0, 0)
		acquire(t.Context(), Wait(time.Minute))
		within("Wait", time.Minute, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		acquire(ctx)
		within("deadline", 9*time.Second, 10*time.Second-time.Millisecond)
		acquire(ctx, Wait(time.Minute))
		within("deadline before Wait", 9*time.Second, 10*time.Second-time.Millisecond)
		acquire(ctx, Wait(time.Second))
		within("Wait before deadline", time.Second, time.Second)

		first, _ := l.Acquire(t.Context(), keyA)
		go func() { time.Sleep(20 * time.Second); _ = first.Release(t.Context()) }()
		acquire(t.Context(), Wait(time.Minute))
		within("after a queue", 40*time.Second, 40*time.Second)
	})
}

func TestLossBeforeTheGrantIsReportedIsNotForgotten(t *testing.T) {
	var heard kinds
	l, server := newLocal(t, WithObserver(&heard))
	server.acquire = func(_ context.Context, r Request) error { r.Lost(errors.New("went away")); return nil }
	h, err := l.Acquire(t.Context(), keyA)
	if err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) {
		t.Errorf("cause is %v", cause)
	}
	if err := h.Guard(); !errors.Is(err, ErrLost) {
		t.Errorf("Guard: %v", err)
	}
	if err := h.Release(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("Release: %v", err)
	}
	if err := l.Close(); err != nil || !server.closed {
		t.Errorf("Close: %v, backend closed: %v", err, server.closed)
	}
	if want := (kinds{Acquired, Lost, Released}); !slices.Equal(heard, want) {
		t.Errorf("observers heard %v, want %v", heard, want)
	}
}

// kinds is an Observer that keeps what happened.
type kinds []EventKind

func (k *kinds) Observe(_ context.Context, e Event) { *k = append(*k, e.Kind) }

func TestObserversHearOfNoEndWithoutABeginning(t *testing.T) {
	var heard kinds
	l, server := newLocal(t, WithObserver(&heard))
	closed := make(chan error, 1)
	server.acquire = func(ctx context.Context, _ Request) error {
		go func() { closed <- l.Close() }()
		<-ctx.Done() // the grant comes in spite of it
		return nil
	}
	if _, err := l.Acquire(t.Context(), keyA); !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if want := (kinds{Failed}); !slices.Equal(heard, want) || len(server.owner) != 0 {
		t.Errorf("observers heard %v, want %v; %d locks left", heard, want, len(server.owner))
	}
}

func TestGuardReadsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		server.lease = time.Second
		err := l.Do(t.Context(), keyA, func(ctx context.Context) error {
			if err := Guard(ctx); err != nil {
				t.Errorf("within the lease: %v", err)
			}
			return l.Do(ctx, keyB, func(inner context.Context) error {
				time.Sleep(time.Second) // nobody calls Lost
				if err := Guard(inner); !errors.Is(err, ErrLost) {
					t.Errorf("after the lease: %v", err)
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
	if err := Guard(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("without a lock: %v", err)
	}
}

func TestTokensOfNestedLocks(t *testing.T) {
	l, _ := newLocal(t)
	defer l.Close()
	_ = l.DoAll(t.Context(), []Key{keyA, keyB, keyA}, func(ctx context.Context) error {
		h := ctx.Value(handleKey{}).(*Handle)
		if len(h.Keys()) != 2 {
			t.Errorf("keys are %v", h.Keys())
		}
		return l.Do(ctx, NewKey("test", "c"), func(ctx context.Context) error {
			inner, _ := Token(ctx)
			first, _ := TokenOf(ctx, h.Keys()[0])
			second, _ := TokenOf(ctx, h.Keys()[1])
			if inner != 2 || first != 1 || second != 1001 {
				t.Errorf("tokens are %d, %d, %d", inner, first, second)
			}
			if _, ok := TokenOf(ctx, NewKey("test", "d")); ok {
				t.Error("a token of a key that is not held")
			}
			return nil
		})
	})
	if _, ok := Token(t.Context()); ok {
		t.Error("a token without a lock")
	}
}

func TestReentrancy(t *testing.T) {
	l, _ := newLocal(t)
	defer l.Close()
	other, _ := newLocal(t)
	defer other.Close()
	var after context.Context
	err := l.Do(t.Context(), keyA, func(ctx context.Context) error {
		after = ctx
		nothing := func(context.Context) error { return nil }
		if err := l.Do(ctx, keyA, nothing); !errors.Is(err, ErrReentrant) {
			t.Errorf("the same key: %v", err)
		}
		if err := l.DoAll(ctx, []Key{keyB, keyA}, nothing); !errors.Is(err, ErrReentrant) {
			t.Errorf("among others: %v", err)
		}
		if err := other.Do(ctx, keyA, nothing); err != nil {
			t.Errorf("another server: %v", err)
		}
		return l.Do(ctx, keyB, func(ctx context.Context) error {
			if err := l.Do(ctx, keyA, nothing); !errors.Is(err, ErrReentrant) {
				t.Errorf("two levels up: %v", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if err := l.Do(context.WithoutCancel(after), keyA, func(context.Context) error { return nil }); err != nil {
		t.Errorf("with the context of a lock that was released: %v", err)
	}
}

func TestDoJoinsTheErrorsOfWorkAndRelease(t *testing.T) {
	l, server := newLocal(t)
	defer l.Close()
	work := errors.New("work")
	server.release = func(context.Context) error { return ErrUnconfirmed }
	err := l.Do(t.Context(), keyA, func(context.Context) error { return work })
	if !errors.Is(err, work) || !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("error is %v", err)
	}
}

func TestReleaseIsDetachedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		server.release = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		h, _ := l.Acquire(t.Context(), keyA, ReleaseTimeout(3*time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if err := h.Release(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestPanicAndGoexitRelease(t *testing.T) {
	l, server := newLocal(t)
	defer l.Close()
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not go on")
			}
		}()
		_ = l.Do(t.Context(), keyA, func(context.Context) error { panic("boom") })
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Do(t.Context(), keyA, func(context.Context) error { runtime.Goexit(); return nil })
		t.Error("Goexit did not go on")
	}()
	<-done
	if len(server.owner) != 0 || len(l.handles) != 0 {
		t.Errorf("%d locks and %d handles left", len(server.owner), len(l.handles))
	}
}

func TestCloseEndsWaitsAndWaitsForHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			err := l.Do(t.Context(), keyA, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second) // what the work takes to stop
				if server.owner[keyA] == nil {
					t.Error("released under the work")
				}
				return nil
			})
			if !errors.Is(err, ErrLost) || !errors.Is(err, ErrClosed) {
				t.Errorf("the holder: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := l.Acquire(t.Context(), keyA); !errors.Is(err, ErrClosed) {
				t.Errorf("the waiter: %v", err)
			}
		})
		forgotten, _ := l.Acquire(t.Context(), keyB)
		synctest.Wait()
		start := time.Now()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != DefaultReleaseTimeout || !server.closed || len(server.owner) != 0 {
			t.Errorf("closed after %v, backend %v, %d locks left", took, server.closed, len(server.owner))
		}
		wg.Wait()
		if err := forgotten.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("release after Close: %v", err)
		}
		if _, err := l.Acquire(t.Context(), keyA); !errors.Is(err, ErrClosed) {
			t.Errorf("acquire after Close: %v", err)
		}
		if err := l.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestCloseDuringTheGrantLeavesNothing(t *testing.T) {
	for range 500 {
		l, server := newLocal(t)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if h, err := l.Acquire(t.Context(), NewKey("test", "close", strconv.Itoa(i))); err == nil {
					_ = h.Release(t.Context())
				}
			})
		}
		wg.Go(func() { _ = l.Close() })
		wg.Wait()
		if len(server.owner) != 0 || len(l.handles) != 0 {
			t.Fatalf("%d locks and %d handles left", len(server.owner), len(l.handles))
		}
	}
}

func TestSharedLocksOfOneProcessGoInTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		if behind := q.enter(keyA, true); behind != nil {
			t.Fatal("the first has a place behind others")
		}
		if turn, ok := q.try(keyA, true); turn || !ok {
			t.Errorf("a shared try while another asks: turn %v, ok %v", turn, ok)
		}
		if turn, ok := q.try(keyA, false); turn || ok {
			t.Errorf("an exclusive try while another asks: turn %v, ok %v", turn, ok)
		}
		var in atomic.Int32
		for range 3 {
			go func() {
				_ = q.enter(keyA, true).wait(t.Context())
				in.Add(1)
				q.leave(keyA)
			}()
		}
		synctest.Wait()
		if in.Load() != 0 {
			t.Error("a second asks the server")
		}
		q.leave(keyA)
		synctest.Wait()
		if in.Load() != 3 || len(q.byKey) != 0 {
			t.Errorf("%d went in, %d queues left", in.Load(), len(q.byKey))
		}
	})
}

func TestBadArguments(t *testing.T) {
	l, server := newLocal(t)
	defer l.Close()
	for name, acquire := range map[string]func() (*Handle, error){
		"no key":          func() (*Handle, error) { return l.AcquireAll(t.Context(), nil) },
		"zero key":        func() (*Handle, error) { return l.Acquire(t.Context(), Key{}) },
		"negative wait":   func() (*Handle, error) { return l.Acquire(t.Context(), keyA, Wait(-time.Second)) },
		"zero TTL":        func() (*Handle, error) { return l.Acquire(t.Context(), keyA, TTL(0)) },
		"no time to free": func() (*Handle, error) { return l.Acquire(t.Context(), keyA, ReleaseTimeout(-1)) },
	} {
		if _, err := acquire(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(server.asked) != 0 || len(l.handles) != 0 {
		t.Errorf("%d asked the server, %d handles left", len(server.asked), len(l.handles))
	}
	if _, err := New(server, TTL(-1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("New: %v", err)
	}
}

func TestCheckThatFindsTheLockGoneEndsIt(t *testing.T) {
	l, server := newLocal(t)
	defer l.Close()
	h, _ := l.Acquire(t.Context(), keyA)
	silence := errors.New("no answer")
	server.check = silence
	if err := h.Check(t.Context()); !errors.Is(err, silence) || h.Context().Err() != nil {
		t.Errorf("no answer: %v, context %v", err, h.Context().Err())
	}
	server.check = ErrLost
	if err := h.Check(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(context.Cause(h.Context()), ErrLost) {
		t.Errorf("gone: %v, context %v", err, context.Cause(h.Context()))
	}
	_ = h.Release(t.Context())
	if err := h.Check(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("after the release: %v", err)
	}
}
