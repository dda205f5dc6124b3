package locktest

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

const (
	// patient is how long a wait is that must end by itself.
	patient = 150 * time.Millisecond

	// load is what may be added to it, less than what package lock adds for a server that does not end a wait
	// by itself. A busy machine adds more, but not each time.
	load = 400 * time.Millisecond
)

var waiting = []behaviour{
	{"a try of a busy key is ErrNotAcquired at once", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		for who, l := range map[string]*lock.Locker{"another locker": b, "the holder's locker": a} {
			s.soon("a try by "+who, load, func() time.Duration {
				start := time.Now()
				_, err := l.Acquire(s.ctx(), k, lock.Try())
				took := time.Since(start)
				s.want(err, lock.ErrNotAcquired)
				return took
			})
		}
		s.release(h)
		s.wantFreeNow(b, k)
	}},
	{"a wait ends with ErrTimeout in about its time, and leaves nothing", func(s *suite) {
		timesOut(s, func(l *lock.Locker, k lock.Key) error {
			_, err := l.Acquire(s.ctx(), k, lock.Wait(patient))
			return err
		}, lock.ErrTimeout)
	}},
	{"a context's deadline ends a wait with ErrTimeout and DeadlineExceeded, and leaves nothing", func(s *suite) {
		timesOut(s, func(l *lock.Locker, k lock.Key) error {
			ctx, cancel := context.WithTimeout(s.ctx(), patient)
			defer cancel()
			_, err := l.Acquire(ctx, k)
			return err
		}, lock.ErrTimeout, context.DeadlineExceeded)
	}},
	{"a wait is granted when the holder releases", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		results := make(chan outcome, 2)
		for _, l := range []*lock.Locker{a, b} {
			go func() {
				h, err := l.Acquire(s.ctx(), k, lock.Wait(s.b.Patience))
				results <- outcome{h: h, err: err}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		s.release(h)
		for range 2 {
			s.wantGrant(results)
		}
	}},
	{"a wait and a grant that meet leave nothing", func(s *suite) {
		sweep(s, true, func(l *lock.Locker, k lock.Key, at time.Duration) (*lock.Handle, error) {
			return l.Acquire(s.ctx(), k, lock.Wait(max(at, time.Millisecond)))
		}, lock.ErrTimeout)
	}},
}

// timesOut wants that a wait for a key that is held ends with the errors, behind another locker and
// behind its own.
func timesOut(s *suite, wait func(*lock.Locker, lock.Key) error, targets ...error) {
	s.Helper()
	a, b, k := s.locker(), s.locker(), s.key()
	h := s.acquire(a, k)
	for who, l := range map[string]*lock.Locker{"another locker": b, "the holder's locker": a} {
		s.soon(fmt.Sprintf("a wait of %v by %s", patient, who), patient+load, func() time.Duration {
			start := time.Now()
			err := wait(l, k)
			took := time.Since(start)
			s.want(err, targets...)
			// A server is told to end a wait by a deadline somewhat before it.
			if took < patient*3/4 {
				s.Errorf("a wait of %v by %s took %v", patient, who, took)
			}
			return took
		})
	}
	s.wantLive(h.Context())
	s.release(h)
	s.wantTakes(b, k)
	s.wantTakes(a, k)
}

// sweep ends acquires at moments from 0 to beyond the grant, of a key that is free or that another
// locker releases meanwhile. Whatever the moment, there is a lock or an error that wraps want, and
// afterwards the key can be taken.
func sweep(s *suite, busy bool, acquire func(l *lock.Locker, k lock.Key, at time.Duration) (*lock.Handle, error), want error) {
	s.Helper()
	holder, waiter, next, k := s.locker(), s.locker(), s.locker(), s.key()
	const handOver = 3 * time.Millisecond
	once := func(at time.Duration) (granted bool, took time.Duration) {
		var held *lock.Handle
		if busy {
			held = s.acquire(holder, k)
		}
		result := make(chan outcome, 1)
		start := time.Now()
		go func() {
			h, err := acquire(waiter, k, at)
			result <- outcome{h, err, time.Since(start)}
		}()
		if busy {
			time.Sleep(handOver)
			s.release(held)
		}
		o := receive(s, result, "end of an acquire")
		if o.err == nil {
			s.release(o.h)
		} else {
			s.want(o.err, want)
		}
		s.wantTakes(next, k)
		return o.err == nil, o.took
	}
	once(s.b.Patience) // the first connects
	granted, took := once(s.b.Patience)
	if !granted {
		s.Fatal("not granted without an end")
	}
	const rounds, fewest, budget = 40, 8, 1500 * time.Millisecond
	n, grants := 0, 0
	for start := time.Now(); n < rounds && (n < fewest || time.Since(start) < budget); n++ {
		// The golden ratio spreads the first few moments as evenly as all of them.
		_, fraction := math.Modf(float64(n) * 0.6180339887)
		if granted, _ := once(time.Duration(fraction * 1.3 * float64(took))); granted {
			grants++
		}
	}
	s.Logf("grant after %v; of %d ends, %d came after it", took, n, grants)
}
