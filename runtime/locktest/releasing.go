package locktest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var releasing = []behaviour{
	{"a second release is ErrNotHeld", func(s *suite) {
		a, k := s.locker(), s.key()
		h := s.acquire(a, k)
		s.release(h)
		s.want(h.Release(s.ctx()), lock.ErrNotHeld)
		s.want(h.Guard(), lock.ErrNotHeld)
		s.want(h.Check(s.ctx()), lock.ErrNotHeld)
		s.wantEnd(h.Context(), lock.ErrNotHeld)
	}},
	{"a second release does not free the next holder's lock", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		old := s.acquire(a, k)
		s.release(old)
		h := s.acquire(a, k)
		s.want(old.Release(s.ctx()), lock.ErrNotHeld)
		s.want(h.Check(s.ctx()))
		s.wantBusy(b, k)
		s.release(h)
	}},
	{"of several releases at once exactly one releases", func(s *suite) {
		a, k := s.locker(), s.key()
		for range 10 {
			h := s.acquire(a, k)
			var releases atomic.Int64
			s.want(all(4, func(int) error {
				err := h.Release(s.ctx())
				if err == nil {
					releases.Add(1)
				} else if !errors.Is(err, lock.ErrNotHeld) {
					return err
				}
				return nil
			}))
			if n := releases.Load(); n != 1 {
				s.Errorf("%d of 4 releases gave nil", n)
			}
		}
	}},
	{"a release with a context that has ended gets out", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		ctx, cancel := context.WithCancel(s.ctx())
		cancel()
		for range 3 {
			h := s.acquire(a, k)
			s.want(h.Release(ctx))
			s.wantFreeNow(b, k)
		}
	}},
}
