package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var errEnough = errors.New("enough")

var cancelling = []behaviour{
	{"an acquire with a context that has ended gives its cause, and leaves nothing", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		ctx, cancel := context.WithCancelCause(s.ctx())
		cancel(errEnough)
		for _, opts := range [][]lock.Option{nil, {lock.Try()}, {lock.Wait(patient)}} {
			_, err := a.Acquire(ctx, k, opts...)
			s.want(err, errEnough)
		}
		s.wantFreeNow(b, k)
		s.wantFreeNow(a, k)
	}},
	{"a cancel ends a wait with its cause, and leaves nothing", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		for _, l := range []*lock.Locker{a, b} {
			ctx, cancel := context.WithCancelCause(s.ctx())
			waiter := try(ctx, l, k)
			time.Sleep(20 * time.Millisecond)
			cancel(errEnough)
			s.want(receive(s, waiter, "end of the wait").err, errEnough)
		}
		s.want(h.Check(s.ctx()))
		s.release(h)
		time.Sleep(20 * time.Millisecond) // for a grant to those who have gone
		s.wantTakes(b, k)
		s.wantTakes(a, k)
	}},
	{"a cancel and a grant that meet leave nothing", func(s *suite) {
		sweep(s, true, cancelled(s), errEnough)
	}},
	{"a cancel at any moment of an acquire that need not wait leaves nothing", func(s *suite) {
		sweep(s, false, cancelled(s), errEnough)
	}},
	{"a cancel in the process's queue leaves the turn to the next", func(s *suite) {
		a, k := s.locker(), s.key()
		for n := range 20 {
			h := s.acquire(a, k)
			ctx, cancel := context.WithCancelCause(s.ctx())
			quits := try(ctx, a, k)
			stays := try(s.ctx(), a, k)
			time.Sleep(time.Duration(n) * 50 * time.Microsecond)
			go cancel(errEnough)
			s.release(h)
			// Whichever is granted first must let the other one in.
			for range 2 {
				var o outcome
				select {
				case o = <-quits:
					quits = nil
				case o = <-stays:
					stays = nil
					s.want(o.err)
				case <-time.After(s.b.Patience):
					s.Fatal("nobody has the turn")
				}
				if o.err == nil {
					s.release(o.h)
				} else {
					s.want(o.err, errEnough)
				}
			}
		}
	}},
	{"a cancel of the acquire's context after the grant changes nothing", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		ctx, cancel := context.WithCancel(s.ctx())
		h, err := a.Acquire(ctx, k)
		if err != nil {
			s.Fatal(err)
		}
		cancel()
		s.wantLive(h.Context())
		s.want(h.Guard())
		s.want(h.Check(s.ctx()))
		s.wantBusy(b, k)
		s.wantGrants(k, 1)
		s.release(h)
	}},
}

// cancelled is an acquire whose context is cancelled at a moment.
func cancelled(s *suite) func(*lock.Locker, lock.Key, time.Duration) (*lock.Handle, error) {
	return func(l *lock.Locker, k lock.Key, at time.Duration) (*lock.Handle, error) {
		ctx, cancel := context.WithCancelCause(s.Context())
		defer cancel(nil)
		timer := time.AfterFunc(at, func() { cancel(errEnough) })
		defer timer.Stop()
		return l.Acquire(ctx, k)
	}
}
