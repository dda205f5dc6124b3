package locktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var naming = []behaviour{
	{"two names of one 64-bit value are ErrKeyCollision", func(s *suite) {
		a, b := s.locker(), s.locker()
		value := rand.Int64()
		k, same := lock.Int64Key("one", value), lock.Int64Key("other", value)
		s.keys = append(s.keys, k)
		s.wantTakes(a, k)
		_, err := b.Acquire(s.ctx(), same)
		s.want(err, lock.ErrKeyCollision)
		_, err = a.AcquireAll(s.ctx(), []lock.Key{s.key(), same})
		s.want(err, lock.ErrKeyCollision)
		s.wantTakes(b, k)
	}},
	{"no key, the zero key and options that can't be are ErrInvalid", func(s *suite) {
		a, k := s.locker(), s.key()
		_, err := a.Acquire(s.ctx(), lock.Key{})
		s.want(err, lock.ErrInvalid)
		_, err = a.AcquireAll(s.ctx(), []lock.Key{k, {}})
		s.want(err, lock.ErrInvalid)
		_, err = a.AcquireAll(s.ctx(), nil)
		s.want(err, lock.ErrInvalid)
		for _, option := range []lock.Option{lock.Wait(-time.Second), lock.TTL(0), lock.ReleaseTimeout(-1)} {
			_, err = a.Acquire(s.ctx(), k, option)
			s.want(err, lock.ErrInvalid)
		}
		s.wantFreeNow(a, k)
	}},
	{"keys of every form are locked", func(s *suite) {
		a, b := s.locker(), s.locker()
		for _, k := range []lock.Key{
			lock.NewKey("locktest "+process, "ünïcode", "with {braces} and 'quotes'", ""),
			lock.Int64Key("negative", -1-rand.Int64()),
			lock.Int64Key("positive", rand.Int64()),
			lock.LiteralKey("locktest:" + process + ":literal"),
			lock.LiteralKey("locktest:{" + process + "}:" + fmt.Sprint(make([]byte, 100))),
		} {
			s.keys = append(s.keys, k)
			h := s.acquire(a, k)
			s.wantBusy(b, k)
			s.wantGrants(k, 1)
			s.release(h)
			s.wantFreeNow(b, k)
		}
	}},
}

var fencing = []behaviour{
	{"each holder's token is larger than those before, whichever locker it has", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		if !s.b.Fencing {
			h := s.acquire(a, k)
			if n := h.Token(); n != 0 {
				s.Errorf("token %d of a backend without fencing", n)
			}
			s.release(h)
			return
		}
		last := int64(0)
		grow := func(n int64) {
			if n <= last {
				s.Errorf("token %d after %d", n, last)
			}
			last = n
		}
		for n := range 8 {
			h := s.acquire([]*lock.Locker{a, a, b}[n%3], k)
			grow(h.Token())
			s.release(h)
		}
		h := s.acquire(a, k)
		grow(h.Token())
		s.b.Break(s, k)
		next := s.acquire(b, k)
		grow(next.Token())
		_ = h.Release(s.ctx()) // ErrLost, or what the server said of it
		s.release(next)
		ctx := s.ctx()
		s.want(all(4, func(i int) error {
			for range 5 {
				err := []*lock.Locker{a, b}[i%2].Do(ctx, k, func(ctx context.Context) error {
					n, _ := lock.Token(ctx)
					grow(n) // under the lock
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}},
	{"in Do, Token and TokenOf give the token of the lock, and Guard nil", func(s *suite) {
		a, outer, inner := s.locker(), s.key(), s.key()
		s.want(a.Do(s.ctx(), outer, func(ctx context.Context) error {
			s.want(lock.Guard(ctx))
			first, ok := lock.Token(ctx)
			if ok != s.b.Fencing || ok != (first > 0) {
				s.Errorf("token %d, %v", first, ok)
			}
			return a.Do(ctx, inner, func(ctx context.Context) error {
				s.want(lock.Guard(ctx))
				if n, ok := lock.TokenOf(ctx, outer); n != first || ok != s.b.Fencing {
					s.Errorf("token of the outer lock %d, %v; want %d", n, ok, first)
				}
				own, _ := lock.Token(ctx)
				if n, ok := lock.TokenOf(ctx, inner); n != own || ok != s.b.Fencing {
					s.Errorf("token of the inner lock %d, %v; want %d", n, ok, own)
				}
				return nil
			})
		}))
		s.want(lock.Guard(s.ctx()), lock.ErrNotHeld)
		if n, ok := lock.Token(s.ctx()); ok {
			s.Errorf("token %d outside of Do", n)
		}
	}},
	{"each of several keys has a token that grows", func(s *suite) {
		if !s.b.Fencing {
			s.Skip("the backend gives no fencing tokens")
		}
		a, b, keys := s.locker(), s.locker(), []lock.Key{s.key(), s.key()}
		last := map[lock.Key]int64{}
		for _, l := range []*lock.Locker{a, b, a} {
			s.want(l.DoAll(s.ctx(), keys, func(ctx context.Context) error {
				for _, k := range keys {
					n, ok := lock.TokenOf(ctx, k)
					if !ok || n <= last[k] {
						s.Errorf("token %d, %v of %q after %d", n, ok, k, last[k])
					}
					last[k] = n
				}
				return nil
			}))
		}
	}},
}

var observing = []behaviour{
	{"observers hear of what happens to a lock", func(s *suite) {
		seen := &record{}
		a, b, k := s.locker(lock.WithObserver(seen)), s.locker(), s.key()
		h := s.acquire(a, k)
		waiter := try(s.ctx(), a, k)
		time.Sleep(20 * time.Millisecond)
		s.release(h)
		o := receive(s, waiter, "grant")
		if o.err != nil {
			s.Fatal(o.err)
		}
		s.b.Break(s, k)
		s.wantEnd(o.h.Context(), lock.ErrLost)
		s.want(o.h.Release(s.ctx()), lock.ErrLost)
		busy := s.acquire(b, k)
		s.wantBusy(a, k)
		s.release(busy)

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
