package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// beforeTheNetwork wants that at least one of three tries returns long before what waits for the network, which is
// 15 s or without end each time.
func beforeTheNetwork(t *testing.T, what string, try func() time.Duration) {
	t.Helper()
	const bound = 12 * time.Second
	var all []time.Duration
	for range 3 {
		took := try()
		all = append(all, took.Round(time.Millisecond))
		if took < bound {
			break
		}
	}
	t.Logf("%s took %v", what, all)
	if all[len(all)-1] >= bound {
		t.Errorf("%s took %v", what, all)
	}
}

// ways are what a silent network leaves to wait for: a connection that is being opened, and a statement.
var ways = map[string]func(t *testing.T, db *sql.DB){
	"to a new connection": func(*testing.T, *sql.DB) {},
	"on a connection that is there": func(t *testing.T, db *sql.DB) {
		if err := db.PingContext(patient(t)); err != nil {
			t.Fatal(err)
		}
	},
}

func TestCallsInASilentNetworkEndWithTheirContextsAndCloseSoonAfter(t *testing.T) {
	calls := map[string]func(ctx context.Context, db *sql.DB, key lock.Key) (closed func() error, err error){
		"acquire": func(ctx context.Context, db *sql.DB, key lock.Key) (func() error, error) {
			l, err := pglock.New(db)
			if err != nil {
				return nil, err
			}
			_, err = l.Acquire(ctx, key)
			return l.Close, err
		},
		"transaction": func(ctx context.Context, db *sql.DB, key lock.Key) (func() error, error) {
			err := pglock.DoTx(ctx, db, key, func(context.Context, *sql.Tx) error { return nil }, lock.ReleaseTimeout(300*time.Millisecond))
			return func() error { return nil }, err
		},
	}
	for _, driver := range drivers {
		for way, before := range ways {
			for call, run := range calls {
				t.Run(driver+"/"+call+" "+way, func(t *testing.T) {
					direct := databases[driver]()
					goroutines.Verify(t)
					var proxies []*faultproxy.Proxy
					beforeTheNetwork(t, call, func() time.Duration {
						proxy, _, db := proxied(t, driver, direct)
						proxies = append(proxies, proxy)
						before(t, db)
						proxy.Blackhole(true)
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						defer cancel()
						start := time.Now()
						closed, err := run(ctx, db, keyOf(t))
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("error %v, want DeadlineExceeded", err)
						}
						if err := closed(); err != nil {
							t.Error(err)
						}
						return time.Since(start)
					})
					for _, proxy := range proxies { // ends what still waits
						proxy.Blackhole(false)
						proxy.Cut()
					}
				})
			}
		}
	}
}

// What pgx waits for on a connection that only the client believes in is the server's end of it.
func TestCloseDoesNotWaitForAHalfOpenConnection(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			direct := databases[driver]()
			goroutines.Verify(t)
			beforeTheNetwork(t, "close", func() time.Duration {
				proxy, watch, db := proxied(t, driver, direct)
				l := newLocker(t, db)
				h := take(t, l, keyOf(t), lock.ReleaseTimeout(100*time.Millisecond))
				proxy.HalfOpen()
				start := time.Now()
				if err := h.Release(patient(t)); !errors.Is(err, lock.ErrUnconfirmed) && !errors.Is(err, lock.ErrLost) {
					t.Errorf("release: %v, want ErrUnconfirmed or ErrLost", err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				took := time.Since(start)
				wantNothing(t, watch)
				return took
			})
		})
	}
}

func TestTheFirstLockLeavesOneConnectionInThePool(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(0)
		if err := take(t, newLocker(t, db), keyOf(t)).Release(patient(t)); err != nil {
			t.Error(err)
		}
		var s sql.DBStats
		defer func() { t.Logf("%d connections are open, %d of them idle", s.OpenConnections, s.Idle) }()
		eventually(t, "one connection is open, and idle", func() bool {
			s = db.Stats()
			return s.OpenConnections == 1 && s.Idle == 1
		})
	})
}
