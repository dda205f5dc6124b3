package pgxlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestNestedAcquireOfAFullPoolFailsAtOnce(t *testing.T) {
	s := newServer(t)
	l := s.locker(MaxConns(2))
	other := take(t, l.Locker, lock.NewKey("pool", "other"))
	err := l.Do(context.Background(), lock.NewKey("pool", "outer"), func(ctx context.Context) error {
		_, err := l.Acquire(ctx, lock.NewKey("pool", "inner"))
		return err
	})
	if !errors.Is(err, lock.ErrPoolExhausted) || !contains(err, "MaxConns") {
		t.Errorf("the nested Acquire gave %v, want ErrPoolExhausted that names MaxConns", err)
	}
	if err := other.Release(context.Background()); err != nil {
		t.Error(err)
	}
	s.free()
}

func TestAcquireOfAFullPoolWaitsForAConnection(t *testing.T) {
	s := newServer(t)
	l := s.locker(MaxConns(1))
	first := take(t, l.Locker, lock.NewKey("pool", "first"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(ctx, lock.NewKey("pool", "second")); !errors.Is(err, context.DeadlineExceeded) || !contains(err, "MaxConns") {
		t.Errorf("Acquire gave %v, want the context's end with what it waited for", err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := take(t, l.Locker, lock.NewKey("pool", "second")).Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(20 * time.Millisecond)
	if err := first.Release(context.Background()); err != nil {
		t.Error(err)
	}
	done.Wait()
	s.free()
}

func TestLocksTakeNoConnectionOfTheCallersPool(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 1)
	l, err := FromPool(pool)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range DefaultMaxConns {
		h := take(t, l.Locker, lock.NewKey("pool", "own", fmt.Sprint(i)))
		defer func() {
			if err := h.Release(context.Background()); err != nil {
				t.Error(err)
			}
		}()
	}
	if n := pool.Stat().TotalConns(); n != 0 {
		t.Errorf("the caller's pool has %d connections", n)
	}
	if _, err := pool.Exec(context.Background(), "SELECT 1"); err != nil {
		t.Error(err)
	}
}

// Four holders whose work needs a connection each, on a pool of four.
func TestDoLeavesAConnectionForTheWork(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 4)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	did, refused := 0, 0
	for worker := range 4 {
		all.Go(func() {
			for range 10 {
				err := Do(ctx, pool, lock.NewKey("pool", "do", fmt.Sprint(worker)), func(ctx context.Context) error {
					_, err := pool.Exec(ctx, "SELECT pg_sleep(0.002)")
					return err
				})
				mu.Lock()
				switch {
				case err == nil:
					did++
				case errors.Is(err, lock.ErrPoolExhausted):
					refused++
				default:
					t.Errorf("Do gave %v", err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("%d did their work, %d were refused", did, refused)
	if did == 0 {
		t.Error("nobody did")
	}
	s.free()
}

func TestDoIsRefusedWhenItWouldTakeTheLastConnection(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 2)
	err := Do(context.Background(), pool, lock.NewKey("pool", "one"), func(ctx context.Context) error {
		return Do(ctx, pool, lock.NewKey("pool", "two"), func(context.Context) error { return nil })
	})
	if !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("the second Do gave %v, want ErrPoolExhausted", err)
	}
	if err := Do(context.Background(), openPool(t, s.url, 1), lock.NewKey("pool", "one"), func(context.Context) error { return nil }); !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("Do on a pool of one gave %v, want ErrPoolExhausted", err)
	}
	s.free()
}

func TestDoNoticesTheSameKeyAndQueuesInOnePlace(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 3)
	key := lock.NewKey("pool", "same")
	err := Do(context.Background(), pool, key, func(ctx context.Context) error {
		return Do(ctx, pool, key, func(context.Context) error { return nil })
	})
	if !errors.Is(err, lock.ErrReentrant) {
		t.Errorf("the inner Do gave %v, want ErrReentrant", err)
	}
	// More callers than connections: they wait in the process, with no connection.
	var all sync.WaitGroup
	inside := 0
	for range 20 {
		all.Go(func() {
			err := Do(context.Background(), pool, key, func(context.Context) error { inside++; return nil })
			if err != nil {
				t.Errorf("Do gave %v", err)
			}
		})
	}
	all.Wait()
	if inside != 20 {
		t.Errorf("%d of 20 were inside", inside)
	}
	if n := pool.Stat().NewConnsCount(); n > 2 {
		t.Errorf("%d connections were made for locks that were taken one after another", n)
	}
}

func TestDoReturnsACleanConnection(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 2)
	key := lock.NewKey("pool", "clean")
	for _, opt := range []lock.Option{lock.Wait(time.Minute), lock.Try(), lock.Shared()} {
		if err := Do(context.Background(), pool, key, func(context.Context) error { return nil }, opt); err != nil {
			t.Fatal(err)
		}
	}
	var timeout string
	if err := pool.QueryRow(context.Background(), "SHOW lock_timeout").Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("lock_timeout is %q (%v), want what it was", timeout, err)
	}
	if n := pool.Stat().NewConnsCount(); n != 1 {
		t.Errorf("%d connections were made, want one that comes back each time", n)
	}
	s.free()
}

func TestCloseLeavesNoGoroutineAndNoSession(t *testing.T) {
	s := newServer(t)
	running := goleak.IgnoreCurrent()
	l, err := New(context.Background(), parse(t, s.url), Defaults(lock.ReleaseTimeout(time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	h := take(t, l.Locker, lock.NewKey("pool", "close"))
	take(t, l.Locker, lock.NewKey("pool", "terminated"))
	s.terminate(lock.NewKey("pool", "terminated"))
	time.Sleep(2 * watchDelay)
	if err := l.Close(); err != nil { // releases what nobody does
		t.Error(err)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, lock.ErrClosed) {
		t.Errorf("the lock ended with %v, want ErrClosed", cause)
	}
	goroutines.WantGone(t, patience, running, goroutines.OfOpenPgx())
	s.free()
}

func TestEveryWayToRunStatementsWorks(t *testing.T) {
	s := newServer(t)
	s.exec(Schema)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			config := parse(t, s.url)
			config.ConnConfig.DefaultQueryExecMode = mode
			l, err := New(context.Background(), config, Fencing())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			keys := []lock.Key{lock.NewKey("mode", "a"), lock.Int64Key("smallest", -1<<63), lock.Int64Key("small", 1)}
			for _, opts := range [][]lock.Option{nil, {lock.Wait(time.Minute)}, {lock.Try()}, {lock.Shared()}} {
				h, err := l.AcquireAll(context.Background(), keys, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Check(context.Background()); err != nil {
					t.Errorf("check: %v", err)
				}
				if h.Token() == 0 {
					t.Error("no token")
				}
				if err := h.Release(context.Background()); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			if _, err := l.RunOnce(context.Background(), keys[0], time.Nanosecond*1000, func(context.Context) error { return nil }); err != nil {
				t.Errorf("run once: %v", err)
			}
		})
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	config := parse(t, "postgres://localhost/none")
	for name, make := range map[string]func() (*Locker, error){
		"no config":           func() (*Locker, error) { return New(context.Background(), nil) },
		"no pool":             func() (*Locker, error) { return FromPool(nil) },
		"no connection":       func() (*Locker, error) { return New(context.Background(), config, MaxConns(0)) },
		"negative heartbeat":  func() (*Locker, error) { return New(context.Background(), config, Heartbeat(-1)) },
		"negative timeout":    func() (*Locker, error) { return New(context.Background(), config, HeartbeatTimeout(-1)) },
		"invalid lock option": func() (*Locker, error) { return New(context.Background(), config, Defaults(lock.TTL(-1))) },
	} {
		if l, err := make(); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: New gave %v, %v; want ErrInvalid", name, l, err)
		}
	}
	if err := Do(context.Background(), nil, lock.NewKey("a"), nil); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Do gave %v, want ErrInvalid", err)
	}
}
