package locktest

import (
	"context"
	"errors"

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
