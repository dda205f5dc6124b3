package locktest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

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
		s.wantGrant(result)
	}},
}
