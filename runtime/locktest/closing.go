package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var closing = []behaviour{
	{"Close ends who waits with ErrClosed, and who holds with ErrLost", func(s *suite) {
		a, b, c := s.locker(), s.locker(), s.locker()
		theirs, ours := s.key(), s.key()
		h, held := s.acquire(b, theirs), s.acquire(a, ours)
		waiters := []<-chan outcome{try(s.ctx(), a, theirs), try(s.ctx(), a, theirs), try(s.ctx(), a, ours), try(s.ctx(), a, ours)}
		time.Sleep(20 * time.Millisecond)
		closed := make(chan error, 1)
		go func() { closed <- a.Close() }()
		s.wantEnd(held.Context(), lock.ErrLost, lock.ErrClosed)
		for _, w := range waiters {
			s.want(receive(s, w, "end of a wait").err, lock.ErrClosed)
		}
		s.wantOneOf(held.Release(s.ctx()), lock.ErrLost)
		s.want(receive(s, closed, "end of Close"))
		_, err := a.Acquire(s.ctx(), ours)
		s.want(err, lock.ErrClosed)
		s.want(a.Do(s.ctx(), theirs, func(context.Context) error { return nil }, lock.Try()), lock.ErrClosed)
		s.want(a.Close(), lock.ErrClosed)
		s.want(h.Check(s.ctx())) // of another locker
		s.wantFreeNow(c, ours)
		s.release(h)
		s.wantFreeNow(c, theirs)
	}},
	{"Close releases what its holder does not", func(s *suite) {
		a, b, k := s.locker(lock.ReleaseTimeout(time.Second)), s.locker(), s.key()
		h := s.acquire(a, k)
		s.want(a.Close())
		s.wantEnd(h.Context(), lock.ErrLost)
		s.wantTakes(b, k)
		s.want(h.Release(s.ctx()), lock.ErrNotHeld)
	}},
	{"Close while locks are taken leaves nothing", func(s *suite) {
		b, k := s.locker(), s.key()
		for n := range 8 {
			a := s.locker(lock.ReleaseTimeout(time.Second))
			var running sync.WaitGroup
			for range 3 {
				running.Go(func() {
					for {
						h, err := a.Acquire(s.ctx(), k)
						if err != nil {
							s.want(err, lock.ErrClosed)
							return
						}
						_ = h.Release(s.ctx()) // ErrLost when Close came first
					}
				})
			}
			time.Sleep(time.Duration(n) * time.Millisecond)
			s.want(a.Close())
			running.Wait()
			s.wantTakes(b, k)
		}
	}},
}
