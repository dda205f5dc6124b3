package locktest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

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
