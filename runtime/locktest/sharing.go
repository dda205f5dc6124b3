package locktest

import (
	"errors"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

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
		s.wantGrant(waiter)
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
