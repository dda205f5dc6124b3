package locktest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var nesting = []behaviour{
	{"the same key in the same chain of calls is ErrReentrant", func(s *suite) {
		a, k, other := s.locker(), s.key(), s.key()
		nothing := func(context.Context) error { s.Error("the inner function ran"); return nil }
		s.want(a.Do(s.ctx(), k, func(ctx context.Context) error {
			s.want(a.Do(ctx, k, nothing), lock.ErrReentrant)
			s.want(a.DoAll(ctx, []lock.Key{other, k}, nothing), lock.ErrReentrant)
			_, err := a.Acquire(ctx, k, lock.Try())
			s.want(err, lock.ErrReentrant)
			return a.Do(ctx, other, func(ctx context.Context) error {
				s.want(a.Do(ctx, k, nothing), lock.ErrReentrant)
				return nil
			})
		}))
		h := s.acquire(a, k)
		_, err := a.Acquire(h.Context(), k)
		s.want(err, lock.ErrReentrant)
		s.release(h)
	}},
	{"different keys nest", func(s *suite) {
		a, b, outer, inner := s.locker(), s.locker(), s.key(), s.key()
		s.want(a.Do(s.ctx(), outer, func(ctx context.Context) error {
			return a.Do(ctx, inner, func(ctx context.Context) error {
				s.want(lock.Guard(ctx))
				s.wantBusy(b, outer)
				s.wantBusy(b, inner)
				return nil
			})
		}))
		s.wantFreeNow(b, outer)
		s.wantFreeNow(b, inner)
	}},
	{"the loss of the outer lock ends the inner function's context", func(s *suite) {
		a, outer, inner := s.locker(), s.key(), s.key()
		err := a.Do(s.ctx(), outer, func(ctx context.Context) error {
			return a.Do(ctx, inner, func(ctx context.Context) error {
				s.b.Break(s, outer)
				s.wantEnd(ctx, lock.ErrLost)
				s.want(lock.Guard(ctx), lock.ErrLost)
				return nil
			})
		})
		s.want(err, lock.ErrLost)
	}},
	{"a context that outlived its lock is not ErrReentrant", func(s *suite) {
		a, k := s.locker(), s.key()
		var old context.Context
		s.want(a.Do(s.ctx(), k, func(ctx context.Context) error { old = ctx; return nil }))
		_, err := a.Acquire(old, k)
		if s.want(err, lock.ErrNotHeld); errors.Is(err, lock.ErrReentrant) {
			s.Error(err)
		}
		h, err := a.Acquire(context.WithoutCancel(old), k, lock.Wait(s.b.Patience))
		if s.want(err); err == nil {
			s.release(h)
		}
	}},
}

var several = []behaviour{
	{"DoAll holds all keys, and none afterwards", func(s *suite) {
		a, b, keys := s.locker(), s.locker(), []lock.Key{s.key(), s.key(), s.key()}
		s.want(a.DoAll(s.ctx(), keys, func(context.Context) error {
			for _, k := range keys {
				s.wantBusy(b, k)
				s.wantGrants(k, 1)
			}
			return nil
		}))
		for _, k := range keys {
			s.wantFreeNow(b, k)
		}
	}},
	{"a key that is given twice is taken once", func(s *suite) {
		a, k, other := s.locker(), s.key(), s.key()
		h := s.acquireAll(a, []lock.Key{k, other, k, k})
		want := []lock.Key{k, other}
		slices.SortFunc(want, lock.Key.Compare)
		if got := h.Keys(); !slices.Equal(got, want) {
			s.Errorf("keys %v, want %v", got, want)
		}
		s.wantGrants(k, 1)
		s.wantGrants(other, 1)
		s.want(h.Check(s.ctx()))
		s.release(h)
		s.wantFreeNow(a, k)
	}},
	{"DoAll in opposite orders does not deadlock", func(s *suite) {
		a, b, first, second := s.locker(), s.locker(), s.key(), s.key()
		orders := [][]lock.Key{{first, second}, {second, first}}
		lockers := []*lock.Locker{a, b, a, b}
		ctx := s.ctx()
		var section inside
		s.want(all(len(lockers), func(i int) error {
			for n := range 10 {
				err := lockers[i].DoAll(ctx, orders[(i/2+n)%2], func(context.Context) error {
					section.enter()
					defer section.leave()
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
		if n := section.peak(); n != 1 {
			s.Errorf("%d had the same keys at once", n)
		}
	}},
	{"AcquireAll with one key busy fails and leaves none", func(s *suite) {
		a, b, c, keys := s.locker(), s.locker(), s.locker(), []lock.Key{s.key(), s.key(), s.key()}
		slices.SortFunc(keys, lock.Key.Compare)
		for busy := range keys {
			h := s.acquire(a, keys[busy])
			for _, l := range []*lock.Locker{a, b} {
				_, err := l.AcquireAll(s.ctx(), keys, lock.Try())
				s.want(err, lock.ErrNotAcquired)
				_, err = l.AcquireAll(s.ctx(), keys, lock.Wait(30*time.Millisecond))
				s.want(err, lock.ErrTimeout)
			}
			for i, k := range keys {
				if i != busy {
					s.wantTakes(c, k)
				}
			}
			s.want(h.Check(s.ctx()))
			s.release(h)
		}
		s.release(s.acquireAll(b, keys))
	}},
	{"AcquireAll waits until every key is free", func(s *suite) {
		a, b, keys := s.locker(), s.locker(), []lock.Key{s.key(), s.key()}
		first, second := s.acquire(a, keys[0]), s.acquire(a, keys[1])
		result := make(chan outcome, 1)
		var free atomic.Bool
		go func() {
			h, err := b.AcquireAll(s.ctx(), keys)
			if !free.Load() {
				s.Error("granted while a key was held")
			}
			result <- outcome{h: h, err: err}
		}()
		s.release(first)
		time.Sleep(20 * time.Millisecond)
		free.Store(true)
		s.release(second)
		o := receive(s, result, "grant")
		if s.want(o.err); o.err == nil {
			s.release(o.h)
		}
	}},
}

var sharing = []behaviour{
	{"shared locks are held together, and an exclusive one waits for all", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		if !s.b.Shared {
			_, err := a.Acquire(s.ctx(), k, lock.Shared())
			s.want(err, errors.ErrUnsupported)
			s.wantFreeNow(a, k)
			return
		}
		var readers []*lock.Handle
		for _, l := range []*lock.Locker{a, a, b} {
			readers = append(readers, s.acquire(l, k, lock.Shared(), lock.Wait(s.b.Patience)))
		}
		s.wantGrants(k, len(readers))
		readers = append(readers, s.acquire(a, k, lock.Shared(), lock.Try()))
		s.wantBusy(a, k)
		s.wantBusy(b, k)
		waiter := try(s.ctx(), b, k)
		for _, h := range readers {
			select {
			case <-waiter:
				s.Fatal("exclusive beside shared")
			case <-time.After(10 * time.Millisecond):
			}
			s.want(h.Check(s.ctx()))
			s.release(h)
		}
		o := receive(s, waiter, "grant")
		if s.want(o.err); o.err == nil {
			s.release(o.h)
		}
	}},
	{"a shared lock waits for an exclusive one", func(s *suite) {
		if !s.b.Shared {
			s.Skip("the backend has no shared locks")
		}
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		s.wantBusy(a, k, lock.Shared())
		s.wantBusy(b, k, lock.Shared())
		_, err := b.Acquire(s.ctx(), k, lock.Shared(), lock.Wait(30*time.Millisecond))
		s.want(err, lock.ErrTimeout)
		waiters := []<-chan outcome{try(s.ctx(), a, k, lock.Shared()), try(s.ctx(), b, k, lock.Shared()), try(s.ctx(), b, k, lock.Shared())}
		time.Sleep(20 * time.Millisecond)
		s.release(h)
		var together []*lock.Handle
		for _, w := range waiters { // none is released before all are granted
			o := receive(s, w, "shared grant beside others")
			if o.err != nil {
				s.Fatal(o.err)
			}
			together = append(together, o.h)
		}
		for _, h := range together {
			s.release(h)
		}
		s.wantFreeNow(b, k)
	}},
	{"a shared lock that the server ends is lost", func(s *suite) {
		if !s.b.Shared {
			s.Skip("the backend has no shared locks")
		}
		a, k := s.locker(), s.key()
		h := s.acquire(a, k, lock.Shared())
		s.b.Break(s, k)
		s.wantEnd(h.Context(), lock.ErrLost)
		s.want(h.Release(s.ctx()), lock.ErrLost)
		s.wantTakes(a, k)
	}},
}
