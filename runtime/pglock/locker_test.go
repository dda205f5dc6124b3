package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		watch, db := open(0), open(0)
		exec(t, watch, pglock.Schema)
		locktest.Run(t, locktest.Backend{
			New: func(tb testing.TB, opts ...lock.Option) *lock.Locker {
				return newLocker(tb, db, pglock.Fencing(), pglock.Defaults(opts...)).Locker
			},
			Grants:  func(_ testing.TB, key lock.Key) int { return granted(t, watch, key.Int64()) },
			Waiters: func(_ testing.TB, key lock.Key) int { return waiting(t, watch, key.Int64()) },
			Break:   func(_ testing.TB, key lock.Key) { terminate(t, watch, key) },
			Lost:    5 * time.Second,
			Shared:  true,
			Fencing: true,
			Claims:  true,

			Goroutines: []goleak.Option{goroutines.OfOpenPgx()}, // of the pools, which stay open
		})
	})
}

func newLocker(tb testing.TB, db *sql.DB, opts ...pglock.Option) *pglock.Locker {
	tb.Helper()
	l, err := pglock.New(db, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() }) // a test may have closed it
	return l
}

// terminate ends the sessions that hold key, as an administrator would.
func terminate(t *testing.T, watch *sql.DB, key lock.Key) {
	t.Helper()
	infos, err := pglock.Holders(patient(t), watch)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, info := range infos {
		if !info.Key.Pair && info.Key.Int64 == key.Int64() {
			found++
			exec(t, watch, `SELECT pg_terminate_backend($1)`, info.PID)
		}
	}
	if found == 0 {
		t.Errorf("nobody holds %q", key)
	}
}

func take(t *testing.T, l *pglock.Locker, key lock.Key, opts ...lock.Option) *lock.Handle {
	t.Helper()
	h, err := l.Acquire(patient(t), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHoldersLeaveAConnectionForWork(t *testing.T) {
	const most, holders = 4, 4
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, watch := open(most), open(0)
		// Two lockers, and Do, count together.
		lockers := []*pglock.Locker{newLocker(t, db), newLocker(t, db)}
		take := func(i int, key lock.Key, fn func(context.Context) error) error {
			if i == holders-1 {
				return pglock.Do(patient(t), db, key, fn)
			}
			return lockers[i%2].Do(patient(t), key, fn)
		}
		var exhausted atomic.Int32
		var all, inside sync.WaitGroup
		inside.Add(holders)
		for i := range holders {
			all.Go(func() {
				entered := sync.OnceFunc(inside.Done)
				err := take(i, lock.NewKey("pglock", t.Name(), string(rune('a'+i))), func(ctx context.Context) error {
					entered()
					inside.Wait() // so that all hold, or were refused, before the work begins
					var one int
					return db.QueryRowContext(ctx, `SELECT 1`).Scan(&one)
				})
				entered()
				switch {
				case errors.Is(err, lock.ErrPoolExhausted):
					exhausted.Add(1)
				case err != nil:
					t.Errorf("holder %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if n := exhausted.Load(); n != 1 {
			t.Errorf("%d of %d holders were refused on a pool of %d, want 1", n, holders, most)
		}
		wantNothing(t, watch)
		for i := range most - 1 { // nothing is counted any more
			defer func(h *lock.Handle, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				if err := h.Release(patient(t)); err != nil {
					t.Error(err)
				}
			}(lockers[0].Acquire(patient(t), lock.NewKey("pglock", t.Name(), "again", string(rune('a'+i)))))
		}
	})
}

func TestNestedLockOnAFullPoolIsRefusedAndDoesNotHang(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(3)
		l := newLocker(t, db)
		err := l.Do(patient(t), keyOf(t), func(ctx context.Context) error {
			for range 2 { // the work has the rest of the pool
				session(t, db)
			}
			return l.Do(ctx, lock.NewKey("pglock", t.Name(), "inner"), func(context.Context) error { return nil })
		})
		if !errors.Is(err, lock.ErrPoolExhausted) {
			t.Errorf("error %v, want ErrPoolExhausted", err)
		}
	})
}

// The heartbeat comes after an hour: what is noticed is, with lib/pq, the next poll, and with pgx, whose poll
// would come after an hour too, what the server says as it ends the session.
func TestTerminatedSessionIsNoticedAtOnceOrByTheNextPoll(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		watch := open(0)
		opts := []pglock.Option{pglock.Heartbeat(time.Hour)}
		if strings.HasSuffix(t.Name(), "/pgx") {
			opts = append(opts, pglock.PollInterval(time.Hour))
		}
		l := newLocker(t, open(0), opts...)
		for range 6 {
			h := take(t, l, keyOf(t))
			time.Sleep(60 * time.Millisecond) // idle, and watched
			start := time.Now()
			terminate(t, watch, keyOf(t))
			select {
			case <-h.Context().Done():
			case <-time.After(patience):
				t.Fatal("the holder does not hear of it")
			}
			t.Logf("noticed in %v", time.Since(start))
			if cause := context.Cause(h.Context()); !errors.Is(cause, lock.ErrLost) {
				t.Errorf("cause %v, want ErrLost", cause)
			}
			if err := h.Release(patient(t)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("release: %v, want ErrLost", err)
			}
		}
		wantNothing(t, watch)
	})
}

func TestSilentNetworkIsNoticedAndReleaseDoesNotWaitForIt(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			url := databases[driver]()
			goroutines.Verify(t)
			proxy, watch, db := proxied(t, driver, url)
			l := newLocker(t, db, pglock.Heartbeat(100*time.Millisecond), pglock.HeartbeatTimeout(200*time.Millisecond))
			h := take(t, l, keyOf(t))
			proxy.Blackhole(true)
			start := time.Now()
			select {
			case <-h.Context().Done():
			case <-time.After(patience):
				t.Fatal("the holder does not hear of it")
			}
			t.Logf("noticed in %v", time.Since(start))
			if err := h.Release(patient(t)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("release: %v, want ErrLost", err)
			}
			eventually(t, "the connection is out of use", func() bool { return db.Stats().InUse == 0 })
			proxy.Blackhole(false)
			wantNothing(t, watch)
		})
	}
}

// The moments are spread over what an acquire takes, so that the end of the context comes before the statement,
// with it, while it waits, and with the grant.
func TestCancelAtAnyMomentLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		watch, db := open(0), open(3)
		l, key := newLocker(t, db), keyOf(t)
		start := time.Now()
		h := take(t, l, key) // with a new connection, as after a cancel
		took := time.Since(start)
		if err := h.Release(patient(t)); err != nil {
			t.Error(err)
		}
		var got, cancelled int
		for i := range cancelRounds {
			holder := session(t, watch)
			busy := i%2 == 0
			if busy {
				exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			time.AfterFunc(2*took*time.Duration(i%50)/50, func() {
				defer close(ended)
				if i%4 == 0 {
					cancel()
				}
				if busy {
					if err := pglock.Unlock(ctx, holder, key.Int64()); err != nil {
						t.Error(err)
					}
				}
				cancel()
			})
			h, err := l.Acquire(ctx, key)
			switch {
			case err == nil:
				got++
				if err := h.Check(patient(t)); err != nil {
					t.Errorf("granted, but %v", err)
				}
				if err := h.Release(ctx); err != nil {
					t.Error(err)
				}
			case errors.Is(err, context.Canceled):
				cancelled++
			default:
				t.Error(err)
			}
			<-ended
			holder.Close()
			wantNothing(t, watch)
			// One that is still being opened for who has gone has its place in the pool.
			eventually(t, "no connection is in use", func() bool { return db.Stats().InUse == 0 })
		}
		t.Logf("%d granted, %d cancelled; an acquire took %v", got, cancelled, took)
	})
}

func TestPoolerInTransactionModeIsRefused(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			db := open(t, driver, testserver.PgBouncer(t, "transaction"), 0)
			for _, opts := range [][]pglock.Option{nil, {pglock.AllowPooler()}} {
				l := newLocker(t, db, opts...)
				err := l.Do(patient(t), keyOf(t), func(context.Context) error { t.Error("fn runs"); return nil })
				if !errors.Is(err, lock.ErrPooler) {
					t.Errorf("%d options: %v, want ErrPooler", len(opts), err)
				}
			}
			err := pglock.Do(patient(t), db, keyOf(t), func(context.Context) error { t.Error("fn runs"); return nil })
			if !errors.Is(err, lock.ErrPooler) {
				t.Errorf("Do: %v, want ErrPooler", err)
			}
			wantNothing(t, db)
		})
	}
}

func TestPoolerInSessionModeKeepsLocksWhenItIsAllowed(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			db := open(t, driver, testserver.PgBouncer(t, "session"), 0)
			l := newLocker(t, db, pglock.AllowPooler())
			key := keyOf(t)
			err := l.Do(patient(t), key, func(context.Context) error {
				if n := granted(t, db, key.Int64()); n != 1 {
					t.Errorf("%d grants, want 1", n)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			wantNothing(t, db)
		})
	}
}

func TestDoSharesOneLockerForAPool(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		err := pglock.Do(patient(t), db, key, func(ctx context.Context) error {
			if n := granted(t, db, key.Int64()); n != 1 {
				t.Errorf("%d grants, want 1", n)
			}
			return pglock.Do(ctx, db, key, func(context.Context) error { t.Error("fn runs"); return nil })
		})
		if !errors.Is(err, lock.ErrReentrant) {
			t.Errorf("within itself: %v, want ErrReentrant", err)
		}
		wantNothing(t, db)
	})
}

func TestNewRefusesWhatCannotBeRight(t *testing.T) {
	db := open(t, "pgx", testserver.Postgres(t), 0)
	for name, make := range map[string]func() (*pglock.Locker, error){
		"no pool":            func() (*pglock.Locker, error) { return pglock.New(nil) },
		"negative heartbeat": func() (*pglock.Locker, error) { return pglock.New(db, pglock.Heartbeat(-1)) },
		"negative timeout":   func() (*pglock.Locker, error) { return pglock.New(db, pglock.HeartbeatTimeout(-1)) },
		"negative interval":  func() (*pglock.Locker, error) { return pglock.New(db, pglock.PollInterval(-1)) },
		"no TTL":             func() (*pglock.Locker, error) { return pglock.New(db, pglock.Defaults(lock.TTL(0))) },
	} {
		if l, err := make(); !errors.Is(err, lock.ErrInvalid) || l != nil {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, l, err)
		}
	}
	if err := pglock.Do(patient(t), nil, keyOf(t), func(context.Context) error { return nil }); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Do without a pool: %v, want ErrInvalid", err)
	}
}
