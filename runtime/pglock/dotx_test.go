package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// counter makes the table whose one row the tests count in.
func counter(t *testing.T, db *sql.DB) {
	t.Helper()
	exec(t, db, `CREATE TABLE counter (n int NOT NULL)`)
	t.Cleanup(func() { exec(t, db, `DROP TABLE counter`) })
	exec(t, db, `INSERT INTO counter VALUES (0)`)
}

func counted(t *testing.T, db *sql.DB) int {
	t.Helper()
	return count(t, db, `SELECT n FROM counter`)
}

func increment(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE counter SET n = n + 1`)
	return err
}

func TestDoTxCommitsUnderTheLock(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		counter(t, db)
		err := pglock.DoTx(patient(t), db, key, func(ctx context.Context, tx *sql.Tx) error {
			if n := granted(t, db, key.Int64()); n != 1 {
				t.Errorf("%d grants while fn runs, want 1", n)
			}
			if err := lock.Guard(ctx); err != nil {
				t.Error(err)
			}
			return increment(ctx, tx)
		})
		if err != nil {
			t.Error(err)
		}
		if n := counted(t, db); n != 1 {
			t.Errorf("counted %d, want 1", n)
		}
		wantNothing(t, db)
	})
}

// What reads, computes and writes loses counts as soon as a read under the lock is stale.
func TestDoTxReadsWhatTheHolderBeforeCommitted(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		admin := open(0)
		counter(t, admin)
		exec(t, admin, `ALTER DATABASE `+database(t, admin)+` SET default_transaction_isolation = 'repeatable read'`)
		t.Cleanup(func() { exec(t, admin, `ALTER DATABASE `+database(t, admin)+` RESET default_transaction_isolation`) })
		one, two, key := open(4), open(4), keyOf(t) // each its own queue, as two processes
		const each, times = 4, 10
		var running sync.WaitGroup
		for i := range 2 * each {
			db := []*sql.DB{one, two}[i%2]
			running.Go(func() {
				for range times {
					err := pglock.DoTx(patient(t), db, key, func(ctx context.Context, tx *sql.Tx) error {
						var n int
						if err := tx.QueryRowContext(ctx, `SELECT n FROM counter`).Scan(&n); err != nil {
							return err
						}
						_, err := tx.ExecContext(ctx, `UPDATE counter SET n = $1`, n+1)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
		if n := counted(t, one); n != 2*each*times {
			t.Errorf("counted %d, want %d", n, 2*each*times)
		}
	})
}

func database(t *testing.T, db *sql.DB) (name string) {
	t.Helper()
	if err := db.QueryRow(`SELECT quote_ident(current_database())`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDoTxRollsBackWhatFailsAndGivesTheError(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		counter(t, db)
		failed := errors.New("failed")
		err := pglock.DoTx(patient(t), db, key, func(ctx context.Context, tx *sql.Tx) error {
			if err := increment(ctx, tx); err != nil {
				t.Error(err)
			}
			return failed
		})
		if !errors.Is(err, failed) || errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("error %v, want fn's alone", err)
		}
		if n := counted(t, db); n != 0 {
			t.Errorf("counted %d after a rollback", n)
		}
		wantNothing(t, db)
	})
}

func TestDoTxRollsBackAPanicAndAGoexitAndGoesOn(t *testing.T) {
	leaves := map[string]func(){"panic": func() { panic("leave") }, "goexit": runtime.Goexit}
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		counter(t, db)
		for name, leave := range leaves {
			left := make(chan any)
			returned := false
			go func() {
				defer func() { left <- recover() }()
				_ = pglock.DoTx(patient(t), db, key, func(ctx context.Context, tx *sql.Tx) error {
					if err := increment(ctx, tx); err != nil {
						t.Error(err)
					}
					leave()
					return nil
				})
				returned = true
			}()
			if got := <-left; returned || name == "panic" && got != "leave" || name == "goexit" && got != nil {
				t.Errorf("%s: returned %v, recovered %v", name, returned, got)
			}
			if n := counted(t, db); n != 0 {
				t.Errorf("%s: counted %d, want a rollback", name, n)
			}
			wantNothing(t, db)
		}
	})
}

func TestDoTxTryDoesNotWaitAndSharedSharesTheLock(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		one, two, key := open(0), open(0), keyOf(t)
		nothing := func(context.Context, *sql.Tx) error { return nil }
		never := func(context.Context, *sql.Tx) error { t.Error("fn runs without the lock"); return nil }
		within := func(fn func(), opts ...lock.Option) {
			t.Helper()
			err := pglock.DoTx(patient(t), one, key, func(context.Context, *sql.Tx) error { fn(); return nil }, opts...)
			if err != nil {
				t.Error(err)
			}
		}
		within(func() {
			if err := pglock.DoTx(patient(t), two, key, never, lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("exclusive beside exclusive: %v, want ErrNotAcquired", err)
			}
			if err := pglock.DoTx(patient(t), two, key, never, lock.Try(), lock.Shared()); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("shared beside exclusive: %v, want ErrNotAcquired", err)
			}
		})
		for _, how := range [][]lock.Option{{lock.Try()}, {lock.Wait(patience)}, nil} {
			within(func() {
				if err := pglock.DoTx(patient(t), two, key, nothing, append(how, lock.Shared())...); err != nil {
					t.Errorf("shared beside shared: %v", err)
				}
				if err := pglock.DoTx(patient(t), two, key, never, lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
					t.Errorf("exclusive beside shared: %v, want ErrNotAcquired", err)
				}
			}, append(how, lock.Shared())...)
		}
		wantNothing(t, one)
	})
}

func TestDoTxWaitIsBoundedByTheServer(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, other, key := open(0), open(0), keyOf(t)
		holder := session(t, other)
		exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
		err := endedByServer(t, func() error {
			start := time.Now()
			err := pglock.DoTx(patient(t), db, key, func(context.Context, *sql.Tx) error { t.Error("fn runs"); return nil }, lock.Wait(50*time.Millisecond))
			if d := time.Since(start); d < 45*time.Millisecond {
				t.Errorf("waited %v only", d)
			}
			return err
		})
		var server interface{ SQLState() string }
		if !errors.Is(err, lock.ErrTimeout) || !errors.As(err, &server) || server.SQLState() != "55P03" {
			t.Errorf("error %v, want ErrTimeout by the server's 55P03", err)
		}
		if open := db.Stats().OpenConnections; open != 1 {
			t.Errorf("%d connections are open, want that the one is kept", open)
		}
	})
}

func TestDoTxLeavesTheCallersLockTimeoutAlone(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		setting := func(on interface {
			QueryRowContext(context.Context, string, ...any) *sql.Row
		}) (s string) {
			if err := on.QueryRowContext(patient(t), `SHOW lock_timeout`).Scan(&s); err != nil {
				t.Error(err)
			}
			return s
		}
		db, key := open(1), keyOf(t)
		exec(t, db, `SET lock_timeout = '7s'`)
		for _, how := range [][]lock.Option{nil, {lock.Wait(patience)}, {lock.Try()}} {
			err := pglock.DoTx(patient(t), db, key, func(_ context.Context, tx *sql.Tx) error {
				if s := setting(tx); s != "7s" {
					t.Errorf("under the lock %s, want 7s", s)
				}
				return nil
			}, how...)
			if err != nil {
				t.Error(err)
			}
			if s := setting(db); s != "7s" {
				t.Errorf("after the lock %s, want 7s", s)
			}
		}
	})
}

func TestDoTxWithoutWaitIsNotBoundedByTheSessionsLockTimeout(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, other, key := open(1), open(0), keyOf(t)
		exec(t, db, `SET lock_timeout = '20ms'`)
		holder := session(t, other)
		exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
		done := make(chan error, 1)
		go func() {
			done <- pglock.DoTx(patient(t), db, key, func(context.Context, *sql.Tx) error { return nil })
		}()
		eventually(t, "a waiter", func() bool { return waiting(t, other, key.Int64()) == 1 })
		time.Sleep(60 * time.Millisecond)
		exec(t, holder, lockOf("pg_advisory_unlock", key.Int64()))
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestDoTxCancelledWhileItWaitsLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, other, key := open(2), open(0), keyOf(t)
		holder := session(t, other)
		exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- pglock.DoTx(ctx, db, key, func(context.Context, *sql.Tx) error { t.Error("fn runs"); return nil })
		}()
		eventually(t, "a waiter", func() bool { return waiting(t, other, key.Int64()) == 1 })
		cancel(gone)
		if err := <-done; !errors.Is(err, gone) {
			t.Errorf("error %v, want the context's cause", err)
		}
		exec(t, holder, lockOf("pg_advisory_unlock", key.Int64()))
		wantNothing(t, other)
		eventually(t, "no connection is in use", func() bool { return db.Stats().InUse == 0 })
	})
}

func TestDoTxHoldsTheLockUntilFnReturnsAndDoesNotCommitWhenTheContextEnds(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		counter(t, db)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.Background())
		err := pglock.DoTx(ctx, db, key, func(ctx context.Context, tx *sql.Tx) error {
			if err := increment(ctx, tx); err != nil {
				t.Error(err)
			}
			cancel(gone)
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond)
			if n := granted(t, db, key.Int64()); n != 1 {
				t.Errorf("%d grants while fn runs, want 1", n)
			}
			return nil
		})
		if !errors.Is(err, gone) {
			t.Errorf("error %v, want the context's cause", err)
		}
		if n := counted(t, db); n != 0 {
			t.Errorf("counted %d, want a rollback", n)
		}
		wantNothing(t, db)
	})
}

func TestDoTxGivesTheErrorOfTheCommit(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(1), keyOf(t)
		exec(t, db, `CREATE TEMP TABLE once (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
		err := pglock.DoTx(patient(t), db, key, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO once VALUES (1), (1)`)
			return err
		})
		var server interface{ SQLState() string }
		if !errors.As(err, &server) || server.SQLState() != "23505" {
			t.Errorf("error %v, want the server's 23505", err)
		}
		wantNothing(t, db)
	})
}

func TestDoTxWithinItselfIsReentrant(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		err := pglock.DoTx(patient(t), db, key, func(ctx context.Context, _ *sql.Tx) error {
			return pglock.DoTx(ctx, db, key, func(context.Context, *sql.Tx) error { t.Error("fn runs"); return nil })
		})
		if !errors.Is(err, lock.ErrReentrant) {
			t.Errorf("error %v, want ErrReentrant", err)
		}
	})
}

func TestDoTxWaitersOfOneProcessKeepNoConnections(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, other, key := open(0), open(0), keyOf(t)
		holder := session(t, other)
		exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				if err := pglock.DoTx(patient(t), db, key, func(context.Context, *sql.Tx) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "a waiter", func() bool { return waiting(t, other, key.Int64()) == 1 })
		time.Sleep(20 * time.Millisecond)
		if n := db.Stats().InUse; n != 1 {
			t.Errorf("%d connections in use by 8 waiters, want 1", n)
		}
		exec(t, holder, lockOf("pg_advisory_unlock", key.Int64()))
		running.Wait()
	})
}

// poolerDSN is what a driver needs not to use named prepared statements for the work, which a PgBouncer of
// before 1.21 does not know in transaction mode. The locks themselves need nothing.
var poolerDSN = map[string]string{"pgx": "&default_query_exec_mode=exec", "postgres": ""}

func TestDoTxWorksThroughAPoolerInTransactionMode(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			db, key := open(t, driver, testserver.PgBouncer(t, "transaction")+poolerDSN[driver], 0), keyOf(t)
			counter(t, db)
			const workers, times = 6, 5
			var running sync.WaitGroup
			for range workers {
				running.Go(func() {
					for range times {
						if err := pglock.DoTx(patient(t), db, key, increment); err != nil {
							t.Error(err)
						}
					}
				})
			}
			running.Wait()
			if n := counted(t, db); n != workers*times {
				t.Errorf("counted %d, want %d", n, workers*times)
			}
			wantNothing(t, db)
		})
	}
}

func TestDoTxRefusesWhatCannotBeRight(t *testing.T) {
	db := open(t, "pgx", testserver.Postgres(t), 0)
	never := func(context.Context, *sql.Tx) error { t.Error("fn runs"); return nil }
	for name, err := range map[string]error{
		"no pool":       pglock.DoTx(patient(t), nil, keyOf(t), never),
		"the zero key":  pglock.DoTx(patient(t), db, lock.Key{}, never),
		"negative wait": pglock.DoTx(patient(t), db, keyOf(t), never, lock.Wait(-2)),
	} {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func TestDoTxThatIsTheVictimOfADeadlockSaysSo(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		const leaked = 77
		db, other, watch, key := open(1), open(0), open(0), keyOf(t)
		exec(t, db, lockOf("pg_advisory_lock", leaked)) // on the connection that DoTx gets
		exec(t, db, `SET deadlock_timeout = '10ms'`)
		holder := session(t, other)
		exec(t, holder, `SET deadlock_timeout = '1h'`) // so that it is not the one who looks
		exec(t, holder, lockOf("pg_advisory_lock", key.Int64()))
		waited := make(chan error, 1)
		go func() {
			_, err := holder.ExecContext(context.Background(), lockOf("pg_advisory_lock", leaked))
			waited <- err
		}()
		eventually(t, "the other waits", func() bool { return waiting(t, watch, leaked) == 1 })
		err := pglock.DoTx(patient(t), db, key, func(context.Context, *sql.Tx) error { t.Error("fn runs"); return nil })
		var server interface{ SQLState() string }
		if !errors.Is(err, lock.ErrDeadlock) || !errors.As(err, &server) || server.SQLState() != "40P01" {
			t.Errorf("error %v, want ErrDeadlock by the server's 40P01", err)
		}
		exec(t, db, lockOf("pg_advisory_unlock", leaked))
		if err := <-waited; err != nil {
			t.Error(err)
		}
		exec(t, holder, `SELECT pg_advisory_unlock_all()`)
		wantNothing(t, watch)
	})
}

func TestDoTxTellsObservers(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		var events []lock.Event
		seen := observer(func(e lock.Event) { events = append(events, e) })
		err := pglock.DoTx(patient(t), open(0), keyOf(t), func(context.Context, *sql.Tx) error { return nil }, lock.WithObserver(seen), lock.Shared())
		if err != nil {
			t.Error(err)
		}
		if len(events) != 2 || events[0].Kind != lock.Acquired || events[1].Kind != lock.Released || events[1].Err != nil || !events[0].Shared {
			t.Errorf("events %+v, want acquired and released", events)
		}
	})
}

type observer func(lock.Event)

func (o observer) Observe(_ context.Context, e lock.Event) { o(e) }

func TestDoTxOnASilentNetworkEndsInTime(t *testing.T) {
	failed := errors.New("failed")
	for _, driver := range drivers {
		for name, result := range map[string]error{"commit": nil, "rollback": failed} {
			t.Run(driver+" "+name, func(t *testing.T) {
				url := databases[driver]()
				goroutines.Verify(t)
				proxy, watch, db := proxied(t, driver, url)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				err := pglock.DoTx(ctx, db, keyOf(t), func(context.Context, *sql.Tx) error {
					proxy.Blackhole(true)
					time.AfterFunc(100*time.Millisecond, cancel)
					return result
				}, lock.ReleaseTimeout(200*time.Millisecond))
				if result == nil && !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want that of the context", err)
				}
				if result != nil && (!errors.Is(err, failed) || !errors.Is(err, lock.ErrUnconfirmed)) {
					t.Errorf("error %v, want fn's and ErrUnconfirmed", err)
				}
				eventually(t, "no connection is in use", func() bool { return db.Stats().InUse == 0 })
				proxy.Blackhole(false)
				wantNothing(t, watch)
			})
		}
	}
}
