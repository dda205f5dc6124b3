package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

type valueKey struct{}

var holding = []behaviour{
	{"the context of Do's function ends with the caller's, and with its cause", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		ctx, cancel := context.WithCancelCause(s.ctx())
		err := a.Do(ctx, k, func(ctx context.Context) error {
			s.wantLive(ctx)
			cancel(errEnough)
			s.wantEnd(ctx, errEnough)
			s.wantBusy(b, k)
			return nil
		})
		s.want(err) // the release is not the caller's to cancel
		s.wantFreeNow(b, k)
	}},
	{"the context of Do's function has the caller's deadline", func(s *suite) {
		a, k := s.locker(), s.key()
		ctx := s.ctx()
		s.want(a.Do(ctx, k, func(inner context.Context) error {
			want, _ := ctx.Deadline()
			if got, ok := inner.Deadline(); !ok || !got.Equal(want) {
				return fmt.Errorf("deadline %v, %v; want %v", got, ok, want)
			}
			return nil
		}))
	}},
	{"a handle's context has the values of the acquire's, and not its end", func(s *suite) {
		a, k := s.locker(), s.key()
		ctx, cancel := context.WithCancel(context.WithValue(s.ctx(), valueKey{}, "value"))
		h, err := a.Acquire(ctx, k)
		if err != nil {
			s.Fatal(err)
		}
		cancel()
		if got := h.Context().Value(valueKey{}); got != "value" {
			s.Errorf("value %v in the handle's context", got)
		}
		s.wantLive(h.Context())
		s.release(h)
		s.wantEnd(h.Context(), lock.ErrNotHeld)
	}},
	{"Do gives what its function gives", func(s *suite) {
		a, k := s.locker(), s.key()
		s.want(a.Do(s.ctx(), k, func(context.Context) error { return errEnough }), errEnough)
		s.want(a.Do(s.ctx(), k, func(context.Context) error { return nil }))
		s.wantFreeNow(a, k)
	}},
	{"Do does not call its function when the key is busy", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		h := s.acquire(a, k)
		err := b.Do(s.ctx(), k, func(context.Context) error {
			s.Error("the function ran")
			return nil
		}, lock.Try())
		s.want(err, lock.ErrNotAcquired)
		s.release(h)
	}},
	{"a panic in Do's function releases and goes on", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		func() {
			defer func() {
				if r := recover(); r != errEnough {
					s.Errorf("recovered %v, want the panic's value", r)
				}
			}()
			_ = a.Do(s.ctx(), k, func(context.Context) error { panic(errEnough) })
			s.Error("Do returned")
		}()
		s.wantFreeNow(b, k)
		s.wantFreeNow(a, k)
	}},
	{"Goexit in Do's function releases and goes on", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		done := make(chan struct{})
		var returned atomic.Bool
		go func() {
			defer close(done)
			_ = a.Do(s.ctx(), k, func(context.Context) error { runtime.Goexit(); return nil })
			returned.Store(true)
		}()
		receive(s, done, "end of the goroutine")
		if returned.Load() {
			s.Error("Do returned")
		}
		s.wantFreeNow(b, k)
		s.wantFreeNow(a, k)
	}},
}

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

var losing = []behaviour{
	{"a lock that the server ends ends the handle's context with ErrLost", func(s *suite) {
		a, b := s.locker(), s.locker()
		const tries = 3
		for n := range tries {
			k := s.key()
			h := s.acquire(a, k)
			start := time.Now()
			s.b.Break(s, k)
			s.wantEnd(h.Context(), lock.ErrLost)
			took := time.Since(start)
			s.Logf("heard of the loss after %v", took)
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
			if took <= s.b.Lost {
				return
			}
			if n == tries-1 {
				s.Errorf("the loss is heard of after more than %v, each of %d times", s.b.Lost, tries)
			}
		}
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
