package pgxlock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

var errGone = errors.New("the caller has gone")

func TestCancelAtEachStepLeavesNothing(t *testing.T) {
	a, b := lock.NewKey("cancel", "a"), lock.NewKey("cancel", "b")
	first, second := a, b
	if first.Compare(second) > 0 {
		first, second = second, first
	}
	for _, step := range []struct {
		name string
		held lock.Key // by somebody else
	}{
		{"while the first key is waited for", first},
		{"while the second key is waited for", second},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := newServer(t)
			l := s.locker()
			holder := s.connect()
			query(t, holder, `SELECT pg_advisory_lock($1)::text`, step.held.Int64())
			ctx, cancel := context.WithCancelCause(context.Background())
			failed := make(chan error)
			go func() {
				_, err := l.AcquireAll(ctx, []lock.Key{a, b})
				failed <- err
			}()
			eventually(t, "the server has a waiter", func() bool { return s.waiters() == 1 })
			cancel(errGone)
			if err := <-failed; !errors.Is(err, errGone) {
				t.Errorf("AcquireAll gave %v, want the cause", err)
			}
			eventually(t, "only the holder is left", func() bool { return s.grants() == 1 && s.waiters() == 0 })
			query(t, holder, `SELECT pg_advisory_unlock($1)::text`, step.held.Int64())
			if err := take(t, l.Locker, step.held).Release(context.Background()); err != nil {
				t.Error(err)
			}
			s.freeAtOnce()
		})
	}
}

// The ends are spread over what an acquire takes: before the connection, in the probe, in the statement, at
// the grant, after it. They are spread further on a machine that takes longer.
func TestCancelAtAnyMomentLeavesNothing(t *testing.T) {
	s := newServer(t)
	for step := 30 * time.Microsecond; ; step *= 4 {
		got, gave := s.cancelAtMoments(200, step)
		t.Logf("%d acquired, %d given up", got, gave)
		if got > 0 && gave > 0 {
			return
		}
		if step > 50*time.Millisecond {
			t.Fatalf("%d acquired, %d given up: the ends do not reach from before the grant to after it", got, gave)
		}
	}
}

// cancelAtMoments acquires so many times with a context that ends a step later each time.
func (s *server) cancelAtMoments(moments int, step time.Duration) (got, gave int) {
	s.tb.Helper()
	key := lock.NewKey("cancel", "any moment")
	var l *Locker
	for i := range moments {
		if l == nil || i%3 == 0 { // a Locker that has no connection yet, and has not probed
			if l != nil {
				_ = l.Close()
			}
			l = s.locker()
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(time.Duration(i)*step, func() { cancel(errGone) })
		h, err := l.Acquire(ctx, key)
		timer.Stop()
		switch {
		case err == nil:
			got++
			if err := h.Release(ctx); err != nil {
				s.tb.Errorf("release: %v", err)
			}
		case errors.Is(err, errGone):
			gave++
		default:
			s.tb.Errorf("Acquire gave %v", err)
		}
		s.free()
		cancel(nil)
	}
	return got, gave
}

// Callers whose contexts end at about the time of the hand-off share one backend without a queue.
func TestCancelAtTheHandOffLeavesNothing(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("cancel", "hand-off")
	backend := pgadvisory.New(newOwnPool(openPool(t, s.url, contenders), contenders), pgadvisory.Options{})
	var rounds, got, gave atomic.Int64
	contend(func() bool {
		ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, errGone)
		defer cancel()
		hold, err := backend.Acquire(ctx, lock.Request{Keys: []lock.Key{key}, Wait: -1, ReleaseTimeout: 10 * time.Second, Lost: func(err error) {
			t.Errorf("lost: %v", err)
		}})
		switch {
		case err == nil:
			got.Add(1)
			time.Sleep(time.Millisecond)
			if err := hold.Release(context.Background()); err != nil {
				t.Errorf("release: %v", err)
			}
		case errors.Is(err, errGone):
			gave.Add(1)
		default:
			t.Errorf("Acquire gave %v", err)
			return false
		}
		return rounds.Add(1) < 600
	})
	t.Logf("%d acquired, %d given up", got.Load(), gave.Load())
	if gave.Load() == 0 {
		t.Error("nobody gave up")
	}
	s.free()
}

func TestStatementTimeoutIsATimeoutThatSaysSo(t *testing.T) {
	s := newServer(t)
	config := parse(t, s.url)
	config.ConnConfig.RuntimeParams["statement_timeout"] = "50"
	l, err := New(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key := lock.NewKey("cancel", "statement_timeout")
	query(t, s.connect(), `SELECT pg_advisory_lock($1)::text`, key.Int64())
	_, err = l.Acquire(context.Background(), key)
	if !errors.Is(err, lock.ErrTimeout) || code(err) != "57014" || !contains(err, "statement_timeout") {
		t.Errorf("Acquire gave %v, want ErrTimeout with SQLSTATE 57014 that names statement_timeout", err)
	}
	eventually(t, "no waiter is left", func() bool { return s.waiters() == 0 })
}
