package callerpool

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// granting is a backend that grants what package lock asks it for.
type granting struct{ pool *Pool[somePool, one] }

func (granting) Name() string { return "granting" }
func (granting) Close() error { return nil }

func (g granting) Acquire(context.Context, lock.Request) (lock.Hold, error) {
	if g.pool.Value() == nil {
		return nil, errors.New("the pool is gone")
	}
	return granted{}, nil
}

type granted struct{}

func (granted) Tokens() []int64               { return nil }
func (granted) Deadline() time.Time           { return time.Time{} }
func (granted) Check(context.Context) error   { return nil }
func (granted) Release(context.Context) error { return nil }

func makeGranting(pool *Pool[somePool, one]) (*lock.Locker, error) { return lock.New(granting{pool}) }

func TestDoSharesOneLockerForThePoolsLife(t *testing.T) {
	made := 0
	counted := func(pool *Pool[somePool, one]) (*lock.Locker, error) {
		made++
		return makeGranting(pool)
	}
	pool, ctx, key := new(somePool), context.Background(), lock.NewKey(t.Name())
	ran := 0
	err := Do(ctx, pool, counted, key, func(ctx context.Context) error {
		ran++
		if err := Do(ctx, pool, counted, key, func(context.Context) error { ran++; return nil }); !errors.Is(err, lock.ErrReentrant) {
			t.Errorf("inside: %v, want ErrReentrant", err)
		}
		err := Do(context.Background(), pool, counted, key, func(context.Context) error { ran++; return nil }, lock.Try())
		if !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("beside: %v, want ErrNotAcquired", err)
		}
		return Do(ctx, new(somePool), counted, key, func(context.Context) error { ran++; return nil })
	})
	if err != nil {
		t.Error(err)
	}
	if err := Do(ctx, pool, counted, key, func(context.Context) error { ran++; return nil }); err != nil {
		t.Error(err)
	}
	if made != 2 || ran != 3 {
		t.Errorf("%d Lockers were made for two pools, and %d functions of three ran", made, ran)
	}
	pool = nil
	wantForgotten(t)
}

func TestDoGivesTheErrorOfTheMakingAndTriesAgain(t *testing.T) {
	failed := errors.New("failed")
	pool, fn := new(somePool), func(context.Context) error { return nil }
	none := func(*Pool[somePool, one]) (*lock.Locker, error) { return nil, failed }
	if err := Do(context.Background(), pool, none, lock.NewKey(t.Name()), fn); !errors.Is(err, failed) {
		t.Errorf("Do gave %v, want the error of the making", err)
	}
	if err := Do(context.Background(), pool, makeGranting, lock.NewKey(t.Name()), fn); err != nil {
		t.Errorf("Do after a making that failed: %v", err)
	}
}

// The compiler sees no use of the pool after the start of Do but that of Do itself.
func TestDoKeepsThePoolUntilItReturns(t *testing.T) {
	known := make(chan *Pool[somePool, one], 1)
	remember := func(pool *Pool[somePool, one]) (*lock.Locker, error) {
		known <- pool
		return makeGranting(pool)
	}
	err := Do(context.Background(), new(somePool), remember, lock.NewKey(t.Name()), func(context.Context) error {
		pool := <-known
		runtime.GC()
		if pool.Value() == nil {
			t.Error("the pool is gone while Do runs")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
