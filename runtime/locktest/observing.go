package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var observing = []behaviour{
	{"observers hear of what happens to a lock", func(s *suite) {
		seen, k := watched(s)
		for n, want := range []struct {
			kind   lock.EventKind
			queued bool
			held   bool
			err    error
		}{
			{kind: lock.Acquired},
			{kind: lock.Released, held: true},
			{kind: lock.Acquired, queued: true},
			{kind: lock.Lost, held: true, err: lock.ErrLost},
			{kind: lock.Released, held: true, err: lock.ErrLost},
			{kind: lock.Failed, err: lock.ErrNotAcquired},
		} {
			e, ok := seen.after(n)
			if !ok {
				s.Fatalf("no event %d, want %v", n, want.kind)
			}
			if e.Kind != want.kind || e.Queued != want.queued || (e.Held > 0) != want.held || e.Held < 0 {
				s.Errorf("event %d is %+v, want %+v", n, e, want)
			}
			if e.Backend == "" || len(e.Keys) != 1 || e.Keys[0] != k || e.Shared {
				s.Errorf("event %d is of %q, %v, shared %v", n, e.Backend, e.Keys, e.Shared)
			}
			if measured := e.Kind != lock.Lost; measured != (e.Took > 0) || e.Took > s.b.Patience {
				s.Errorf("event %d (%v) took %v", n, e.Kind, e.Took)
			}
			if s.want(e.Err, one(want.err)...); s.Failed() {
				s.Logf("event %d", n)
			}
		}
		if e, _ := seen.after(1); e.Held < 20*time.Millisecond {
			s.Errorf("held for %v, want 20ms at least", e.Held)
		}
	}},
}

// watched lets everything happen to a lock that observers hear of.
func watched(s *suite) (seen *record, k lock.Key) {
	s.Helper()
	// Only time tells that the waiter is in the queue, and a busy machine may need more.
	for pause := 20 * time.Millisecond; ; pause *= 10 {
		seen, k = &record{}, s.key()
		a, b := s.locker(lock.WithObserver(seen)), s.locker()
		h := s.acquire(a, k)
		waiter := try(s.ctx(), a, k)
		time.Sleep(pause)
		s.release(h)
		o := receive(s, waiter, "grant")
		if o.err != nil {
			s.Fatal(o.err)
		}
		if e, _ := seen.after(2); !e.Queued && pause < time.Second {
			s.release(o.h)
			continue
		}
		s.b.Break(s, k)
		s.wantEnd(o.h.Context(), lock.ErrLost)
		s.want(o.h.Release(s.ctx()), lock.ErrLost)
		busy := s.acquire(b, k)
		s.wantBusy(a, k)
		s.release(busy)
		return seen, k
	}
}

// one is the error, or nothing for nil.
func one(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// record keeps the events that it is told of.
type record struct {
	mu     sync.Mutex
	events []lock.Event
}

func (r *record) Observe(_ context.Context, e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// after gives the event after n others, renewals apart, which come when they come.
func (r *record) after(n int) (lock.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == lock.Renewed {
			continue
		}
		if n == 0 {
			return e, true
		}
		n--
	}
	return lock.Event{}, false
}
