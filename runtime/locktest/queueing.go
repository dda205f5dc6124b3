package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var queueing = []behaviour{
	{"those who wait in one process are served in the order in which they came", func(s *suite) {
		a, k := s.locker(), s.key()
		const waiters, tries = 8, 4
		want := make([]int, waiters)
		for i := range want {
			want[i] = i
		}
		// Only time tells that one has come before the next is started, and a busy machine may need
		// more. Another order than that of arrival is right by chance once in 40,000 times.
		var got []int
		for pause := 2 * time.Millisecond; pause < 2*time.Millisecond<<(3*tries); pause <<= 3 {
			if got = served(s, a, k, waiters, pause); slices.Equal(got, want) {
				return
			}
		}
		s.Errorf("served in the order %v", got)
	}},
	{"those who wait in one process are one waiter at the server", func(s *suite) {
		if s.b.Waiters == nil {
			s.Skip("the server can't say who waits")
		}
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		const waiters = 6
		results := make(chan outcome, waiters)
		for range waiters {
			go func() {
				h, err := b.Acquire(s.ctx(), k)
				results <- outcome{h: h, err: err}
			}()
		}
		if !s.eventually(func() bool { return s.b.Waiters(s, k) > 0 }) {
			s.Error("nobody waits at the server")
		}
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if n := s.b.Waiters(s, k); n != 1 {
				s.Errorf("%d wait at the server, want 1", n)
				break
			}
		}
		s.release(h)
		for range waiters {
			s.wantGrant(results)
		}
	}},
}

// served lets n wait that came with a pause between them, and gives the order of their grants.
func served(s *suite, l *lock.Locker, k lock.Key, n int, pause time.Duration) []int {
	s.Helper()
	h := s.acquire(l, k)
	ctx := s.ctx()
	var order []int // under the lock
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			s.want(l.Do(ctx, k, func(context.Context) error { order = append(order, i); return nil }))
		})
		time.Sleep(pause)
	}
	s.release(h)
	running.Wait()
	return order
}
