package locktest

import (
	"context"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var exclusion = []behaviour{
	{"two lockers exclude each other", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		s.wantBusy(b, k)
		s.wantGrants(k, 1)
		s.release(h)
		s.wantFreeNow(b, k)
		contend(s, k, a, b)
	}},
	{"a locker excludes itself", func(s *suite) {
		a, k := s.locker(), s.key()
		h := s.acquire(a, k)
		s.wantBusy(a, k)
		s.wantGrants(k, 1)
		s.release(h)
		s.wantFreeNow(a, k)
		contend(s, k, a)
	}},
	{"different keys do not exclude each other", func(s *suite) {
		a, b, k, other := s.locker(), s.locker(), s.key(), s.key()
		h := s.acquire(a, k)
		s.wantFreeNow(a, other)
		s.wantFreeNow(b, other)
		s.release(h)
	}},
	{"a lock is held for longer than its TTL", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		for end := time.Now().Add(2*s.b.TTL + s.b.TTL/2); time.Now().Before(end); time.Sleep(s.b.TTL / 4) {
			s.wantBusy(b, k)
		}
		s.want(h.Guard())
		s.want(h.Check(s.ctx()))
		s.wantLive(h.Context())
		s.release(h)
	}},
}

// contend lets several goroutines of each locker take k again and again.
func contend(s *suite, k lock.Key, lockers ...*lock.Locker) {
	s.Helper()
	const goroutines, rounds = 4, 5
	var section inside
	ran := 0 // under the lock
	ctx := s.ctx()
	err := all(goroutines*len(lockers), func(i int) error {
		for range rounds {
			err := lockers[i%len(lockers)].Do(ctx, k, func(context.Context) error {
				section.enter()
				defer section.leave()
				ran++
				time.Sleep(time.Millisecond)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.want(err)
	if n := section.peak(); n != 1 {
		s.Errorf("%d were in the critical section at once", n)
	}
	if want := goroutines * len(lockers) * rounds; ran != want {
		s.Errorf("%d calls ran, want %d", ran, want)
	}
}
