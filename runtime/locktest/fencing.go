package locktest

import (
	"context"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

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
