package locktest

import (
	"context"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var losing = []behaviour{
	{"a lock that the server ends ends the handle's context with ErrLost", func(s *suite) {
		a, b := s.locker(), s.locker()
		s.soon("to hear of the loss", s.b.Lost, func() time.Duration {
			k := s.key()
			h := s.acquire(a, k)
			start := time.Now()
			s.b.Break(s, k)
			s.wantEnd(h.Context(), lock.ErrLost)
			took := time.Since(start)
			s.want(h.Guard(), lock.ErrLost)
			s.want(h.Check(s.ctx()), lock.ErrLost)

			next := s.acquire(b, k) // before the release, which must not free what is the next holder's
			s.want(h.Release(s.ctx()), lock.ErrLost)
			s.want(h.Release(s.ctx()), lock.ErrNotHeld)
			s.want(next.Check(s.ctx()))
			s.wantGrants(k, 1)
			s.wantBusy(a, k)
			s.release(next)
			s.wantTakes(a, k)
			return took
		})
	}},
	{"Do gives ErrLost when the lock was lost under its function", func(s *suite) {
		a, k := s.locker(), s.key()
		err := a.Do(s.ctx(), k, func(ctx context.Context) error {
			s.b.Break(s, k)
			s.wantEnd(ctx, lock.ErrLost)
			s.want(lock.Guard(ctx), lock.ErrLost)
			return nil
		})
		s.want(err, lock.ErrLost)
		err = a.Do(s.ctx(), k, func(ctx context.Context) error {
			s.b.Break(s, k)
			<-ctx.Done()
			return errEnough
		})
		s.want(err, lock.ErrLost, errEnough)
		s.wantTakes(a, k)
	}},
	{"a check of a lock that the server has ended is ErrLost or no answer, never nil", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		s.b.Break(s, k)
		s.wantFree(k)
		if err := h.Check(s.ctx()); err == nil {
			s.Error("the check gave nil")
		}
		s.wantEnd(h.Context(), lock.ErrLost)
		s.want(h.Release(s.ctx()), lock.ErrLost)
		s.wantTakes(b, k)
	}},
	{"a release of a lock that the server has ended is never nil", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		s.b.Break(s, k)
		s.wantFree(k)
		s.wantOneOf(h.Release(s.ctx()), lock.ErrLost, lock.ErrNotHeld, lock.ErrUnconfirmed)
		s.wantTakes(b, k)
		s.wantTakes(a, k)
	}},
	{"the loss of one key is the loss of all that were taken with it", func(s *suite) {
		a, b, keys := s.locker(), s.locker(), []lock.Key{s.key(), s.key(), s.key()}
		h := s.acquireAll(a, keys)
		s.b.Break(s, keys[1])
		s.wantEnd(h.Context(), lock.ErrLost)
		s.want(h.Guard(), lock.ErrLost)
		s.want(h.Release(s.ctx()), lock.ErrLost)
		for _, k := range keys {
			s.wantTakes(b, k)
		}
	}},
}
