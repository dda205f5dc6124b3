package pgxlock

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// transactions is a database with a table to count in.
func transactions(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.exec(`CREATE TABLE counter (n int NOT NULL)`)
	s.exec(`INSERT INTO counter VALUES (0)`)
	return s
}

func (s *server) counted() int64 { return s.number(`SELECT n FROM counter`) }

func increment(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE counter SET n = n + 1`)
	return err
}

func txKey(t *testing.T) lock.Key { return lock.NewKey("pgxlock", t.Name()) }

// hold takes the key's session-level lock on a connection of the test's own.
func (s *server) hold(key lock.Key) (release func()) {
	s.tb.Helper()
	conn := s.connect()
	if _, err := conn.Exec(context.Background(), `SELECT pg_advisory_lock($1)`, key.Int64()); err != nil {
		s.tb.Fatal(err)
	}
	return func() {
		if err := Unlock(context.Background(), conn, key.Int64()); err != nil {
			s.tb.Error(err)
		}
	}
}

func TestDoTxCommitsUnderTheLockOnEveryBeginner(t *testing.T) {
	s := transactions(t)
	pooled, err := s.admin.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Release()
	for i, on := range []Beginner{s.admin, pooled, s.connect()} {
		err := DoTx(t.Context(), on, txKey(t), func(ctx context.Context, tx pgx.Tx) error {
			if n := s.grants(txKey(t)); n != 1 {
				t.Errorf("%T: %d grants while fn runs, want 1", on, n)
			}
			if err := lock.Guard(ctx); err != nil {
				t.Error(err)
			}
			return increment(ctx, tx)
		})
		if err != nil {
			t.Errorf("%T: %v", on, err)
		}
		if n := s.counted(); n != int64(i+1) {
			t.Errorf("%T: counted %d, want %d", on, n, i+1)
		}
		s.free()
	}
}

// What reads, computes and writes loses counts as soon as a read under the lock is stale.
func TestDoTxReadsWhatTheHolderBeforeCommittedWhateverTheDefaultIsolation(t *testing.T) {
	s := transactions(t)
	url := s.url + "&default_transaction_isolation=serializable"
	pools := []*pgxpool.Pool{openPool(t, url, 4), openPool(t, url, 4)} // each its own queue, as two processes
	const workers, times = 8, 10
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() {
			for range times {
				err := DoTx(t.Context(), pools[i%2], txKey(t), func(ctx context.Context, tx pgx.Tx) error {
					var n int
					if err := tx.QueryRow(ctx, `SELECT n FROM counter`).Scan(&n); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, `UPDATE counter SET n = $1`, n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if n := s.counted(); n != workers*times {
		t.Errorf("counted %d, want %d", n, workers*times)
	}
}

func TestDoTxRollsBackWhateverEndsFn(t *testing.T) {
	s := transactions(t)
	failed := errors.New("failed")
	for name, leave := range map[string]func() error{
		"error":  func() error { return failed },
		"panic":  func() error { panic("leave") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		type end struct {
			returned  bool
			err       error
			recovered any
		}
		ends := make(chan end)
		go func() {
			var e end
			defer func() { e.recovered = recover(); ends <- e }()
			e.err = DoTx(context.Background(), s.admin, txKey(t), func(ctx context.Context, tx pgx.Tx) error {
				if err := increment(ctx, tx); err != nil {
					t.Error(err)
				}
				return leave()
			})
			e.returned = true
		}()
		e := <-ends
		if e.returned != (name == "error") || errors.Is(e.err, failed) != (name == "error") || (e.recovered == "leave") != (name == "panic") {
			t.Errorf("%s: %+v", name, e)
		}
		if errors.Is(e.err, lock.ErrUnconfirmed) {
			t.Errorf("%s: %v, want fn's error alone", name, e.err)
		}
		if n := s.counted(); n != 0 {
			t.Errorf("%s: counted %d, want a rollback", name, n)
		}
		s.free()
	}
}

func TestDoTxTriesSharesAndWaitsAsItsOptionsSay(t *testing.T) {
	s := newServer(t)
	other, key := openPool(t, s.url, 4), txKey(t)
	do := func(pool *pgxpool.Pool, fn func(), opts ...lock.Option) error {
		return DoTx(t.Context(), pool, key, func(context.Context, pgx.Tx) error { fn(); return nil }, opts...)
	}
	for _, c := range []struct {
		name         string
		outer, inner []lock.Option
		want         error
		least        time.Duration
		wantSQLSTATE string
	}{
		{name: "try beside exclusive", inner: []lock.Option{lock.Try()}, want: lock.ErrNotAcquired},
		{name: "try shared beside exclusive", inner: []lock.Option{lock.Try(), lock.Shared()}, want: lock.ErrNotAcquired},
		{name: "wait beside exclusive", inner: []lock.Option{lock.Wait(50 * time.Millisecond)}, want: lock.ErrTimeout, least: 45 * time.Millisecond, wantSQLSTATE: "55P03"},
		{name: "try shared beside shared", outer: []lock.Option{lock.Shared()}, inner: []lock.Option{lock.Try(), lock.Shared()}},
		{name: "shared beside tried shared", outer: []lock.Option{lock.Shared(), lock.Try()}, inner: []lock.Option{lock.Shared()}},
		{name: "try exclusive beside shared", outer: []lock.Option{lock.Shared()}, inner: []lock.Option{lock.Try()}, want: lock.ErrNotAcquired},
	} {
		err := do(s.admin, func() {
			ran := false
			err := endedByServer(t, func() error {
				start := time.Now()
				err := do(other, func() { ran = true }, c.inner...)
				if took := time.Since(start); took < c.least {
					t.Errorf("%s: took %v only", c.name, took)
				}
				return err
			})
			if !errors.Is(err, c.want) || ran != (c.want == nil) {
				t.Errorf("%s: %v, fn ran: %v, want %v", c.name, err, ran, c.want)
			}
			var server interface{ SQLState() string }
			if c.wantSQLSTATE != "" && (!errors.As(err, &server) || server.SQLState() != c.wantSQLSTATE) {
				t.Errorf("%s: %v, want the server's %s", c.name, err, c.wantSQLSTATE)
			}
		}, c.outer...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	s.free()
}

func TestDoTxNeitherMindsNorChangesTheSessionsLockTimeout(t *testing.T) {
	s := newServer(t)
	key := txKey(t)
	pool := openPool(t, s.url+"&lock_timeout=20", 1)
	show := func(on Querier) (setting string) {
		if err := on.QueryRow(t.Context(), `SHOW lock_timeout`).Scan(&setting); err != nil {
			t.Error(err)
		}
		return setting
	}
	for _, how := range [][]lock.Option{nil, {lock.Wait(20 * time.Second)}} {
		release := s.hold(key)
		done := make(chan error, 1)
		go func() {
			done <- DoTx(t.Context(), pool, key, func(_ context.Context, tx pgx.Tx) error {
				if got := show(tx); got != "20ms" {
					t.Errorf("under the lock lock_timeout is %s, want 20ms", got)
				}
				return nil
			}, how...)
		}()
		eventually(t, "a waiter", func() bool { return s.waiters() == 1 })
		time.Sleep(60 * time.Millisecond)
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := show(pool); got != "20ms" {
			t.Errorf("afterwards lock_timeout is %s, want 20ms", got)
		}
	}
}

func TestDoTxCancelledAtAnyMomentLeavesNothing(t *testing.T) {
	s := newServer(t)
	pool, key := openPool(t, s.url, 2), txKey(t)
	gone := errors.New("gone")
	start := time.Now() // with a new connection, as after a cancel
	if err := DoTx(t.Context(), pool, key, func(context.Context, pgx.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	var ran, cancelled int
	const rounds = 60
	for i := range rounds {
		release := func() {}
		if i%2 == 0 {
			release = s.hold(key)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		ended := make(chan struct{})
		time.AfterFunc(2*took*time.Duration(i)/rounds, func() {
			defer close(ended)
			if i%4 == 0 {
				cancel(gone)
			}
			release()
			cancel(gone)
		})
		switch err := DoTx(ctx, pool, key, func(context.Context, pgx.Tx) error { return nil }); {
		case err == nil:
			ran++
		case errors.Is(err, gone):
			cancelled++
		default:
			t.Error(err)
		}
		<-ended
		s.free()
	}
	t.Logf("%d ran, %d were cancelled; one took %v", ran, cancelled, took)
	eventually(t, "no connection is in use", func() bool { return pool.Stat().AcquiredConns() == 0 })
}

func TestDoTxHoldsTheLockUntilFnReturnsAndDoesNotCommitWhenTheContextEnds(t *testing.T) {
	s := transactions(t)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := DoTx(ctx, s.admin, txKey(t), func(ctx context.Context, tx pgx.Tx) error {
		if err := increment(ctx, tx); err != nil {
			t.Error(err)
		}
		cancel(gone)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		if n := s.grants(txKey(t)); n != 1 {
			t.Errorf("%d grants while fn runs, want 1", n)
		}
		return nil
	})
	if !errors.Is(err, gone) {
		t.Errorf("error %v, want the context's cause", err)
	}
	if n := s.counted(); n != 0 {
		t.Errorf("counted %d, want a rollback", n)
	}
	s.free()
}

func TestDoTxGivesTheErrorOfTheCommit(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE once (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	err := DoTx(t.Context(), s.admin, txKey(t), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO once VALUES (1), (1)`)
		return err
	})
	var server interface{ SQLState() string }
	if !errors.As(err, &server) || server.SQLState() != "23505" {
		t.Errorf("error %v, want the server's 23505", err)
	}
	s.free()
}

func TestDoTxOfOneProcessQueuesWithoutConnectionsAndIsNotReentrant(t *testing.T) {
	s := newServer(t)
	pool, key := openPool(t, s.url, 8), txKey(t)
	err := DoTx(t.Context(), pool, key, func(ctx context.Context, _ pgx.Tx) error {
		return DoTx(ctx, pool, key, func(context.Context, pgx.Tx) error { t.Error("fn runs"); return nil })
	})
	if !errors.Is(err, lock.ErrReentrant) {
		t.Errorf("within itself: %v, want ErrReentrant", err)
	}
	release := s.hold(key)
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() {
			if err := DoTx(t.Context(), pool, key, func(context.Context, pgx.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "a waiter", func() bool { return s.waiters() == 1 })
	time.Sleep(20 * time.Millisecond)
	if n := pool.Stat().AcquiredConns(); n != 1 {
		t.Errorf("%d connections in use by 6 waiters, want 1", n)
	}
	release()
	running.Wait()
}

func TestDoTxWorksThroughAPoolerInTransactionMode(t *testing.T) {
	pool := openPool(t, testserver.PgBouncer(t, "transaction")+"&default_query_exec_mode=exec", 8)
	s := &server{tb: t, admin: pool}
	s.exec(`CREATE TABLE counter (n int NOT NULL)`)
	s.exec(`INSERT INTO counter VALUES (0)`)
	const workers, times = 6, 5
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for range times {
				if err := DoTx(t.Context(), pool, txKey(t), increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if n := s.counted(); n != workers*times {
		t.Errorf("counted %d, want %d", n, workers*times)
	}
	s.free()
}

func TestDoTxLeavesNoGoroutine(t *testing.T) {
	s := newServer(t)
	pool := openPool(t, s.url, 2)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	running := goleak.IgnoreCurrent()
	defer goroutines.WantGone(t, 2*patience, running, goroutines.OfOpenPgx())
	if err := DoTx(t.Context(), pool, txKey(t), func(context.Context, pgx.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	defer s.hold(txKey(t))()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := DoTx(ctx, pool, txKey(t), func(context.Context, pgx.Tx) error { t.Error("fn runs"); return nil })
	if !errors.Is(err, lock.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrTimeout and DeadlineExceeded", err)
	}
}

func TestDoTxRefusesWhatCannotBeRight(t *testing.T) {
	s := newServer(t)
	never := func(context.Context, pgx.Tx) error { t.Error("fn runs"); return nil }
	var none *pgxpool.Pool
	for name, err := range map[string]error{
		"nil":           DoTx(t.Context(), nil, txKey(t), never),
		"a nil pool":    DoTx(t.Context(), none, txKey(t), never),
		"the zero key":  DoTx(t.Context(), s.admin, lock.Key{}, never),
		"negative wait": DoTx(t.Context(), s.admin, txKey(t), never, lock.Wait(-2)),
	} {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
