package unlockctx

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// stopped runs a program whose work is told to stop half way, as by a signal to the process.
func stopped(t *testing.T, run func(context.Context, Import) error) error {
	ctx, stop := context.WithCancel(t.Context())
	return run(ctx, func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		return ctx.Err()
	})
}

// finished runs a program whose work simply ends.
func finished(t *testing.T, run func(context.Context, Import) error) error {
	return run(t.Context(), func(context.Context) error { return nil })
}

type pooled func(context.Context, *pgxpool.Pool, int64, Import) error

func TestBadSendsNothingAndLeavesTheLock(t *testing.T) {
	s := proof.Postgres(t)
	for name, f := range map[string]pooled{"deferred closure": Pooled, "deferred helper": PooledHelper} {
		t.Run(name, func(t *testing.T) {
			pool, shard := s.Pool(2), s.NewKey()
			err := stopped(t, func(ctx context.Context, work Import) error { return f(ctx, pool, shard, work) })
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped with %v, want %v", err, context.Canceled)
			}
			s.WantLeaked(proof.Key(shard))
			s.WantShutOut(shard)
			if idle := pool.Stat().IdleConns(); idle != 1 {
				t.Fatalf("idle connections = %d, want the one with the lock", idle)
			}
		})
	}
}

// These two end their own context, so that nobody has to stop them.
func TestBadLeavesTheLockEachTime(t *testing.T) {
	s := proof.Postgres(t)
	for name, f := range map[string]pooled{"cancel deferred last": Bounded, "group": Grouped} {
		t.Run(name, func(t *testing.T) {
			pool, shard := s.Pool(2), s.NewKey()
			err := finished(t, func(ctx context.Context, work Import) error { return f(ctx, pool, shard, work) })
			if err != nil {
				t.Fatal(err)
			}
			s.WantLeaked(proof.Key(shard))
			s.WantShutOut(shard)
		})
	}
}

func TestGoodUnlocksWhenStopped(t *testing.T) {
	s := proof.Postgres(t)
	for name, f := range map[string]pooled{"deferred": PooledDetached, "group": GroupedDetached} {
		t.Run(name, func(t *testing.T) {
			pool, shard := s.Pool(2), s.NewKey()
			err := stopped(t, func(ctx context.Context, work Import) error { return f(ctx, pool, shard, work) })
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHeld) {
				t.Fatalf("stopped with %v, want %v alone", err, context.Canceled)
			}
			s.WantFree(proof.Key(shard))
			if idle := pool.Stat().IdleConns(); idle != 1 {
				t.Fatalf("idle connections = %d, want one that is still good", idle)
			}
		})
	}
}

func acquire(t *testing.T, pool *pgxpool.Pool) *pgxpool.Conn {
	conn, err := pool.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestReturnedUnlock(t *testing.T) {
	s := proof.Postgres(t)
	claim := func(f func(context.Context, *pgxpool.Conn, int64) (func() error, error)) (int64, error) {
		conn, shard := acquire(t, s.Pool(2)), s.NewKey()
		defer conn.Release()
		ctx, stop := context.WithCancel(t.Context())
		unlock, err := f(ctx, conn, shard)
		stop()
		if err != nil {
			t.Fatal(err)
		}
		return shard, unlock()
	}

	shard, err := claim(Claim)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("unlock = %v, want %v", err, context.Canceled)
	}
	s.WantLeaked(proof.Key(shard))

	shard, err = claim(ClaimDetached)
	if err != nil {
		t.Fatal(err)
	}
	s.WantFree(proof.Key(shard))
}

func TestAfterDone(t *testing.T) {
	s := proof.Postgres(t)
	follow := func(f func(context.Context, *pgx.Conn, int64, func()) error) (int64, error) {
		ctx, stop := context.WithCancel(t.Context())
		shard := s.NewKey()
		return shard, f(ctx, s.Session(), shard, stop)
	}

	shard, err := follow(Follow)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("unlock = %v, want %v", err, context.Canceled)
	}
	s.WantLeaked(proof.Key(shard))

	shard, err = follow(FollowDetached)
	if err != nil {
		t.Fatal(err)
	}
	s.WantFree(proof.Key(shard))
}

func TestCleanup(t *testing.T) {
	s := proof.Postgres(t)
	hold := func(name string, f func(testing.TB, *pgxpool.Conn, int64)) int64 {
		conn, shard := acquire(t, s.Pool(2)), s.NewKey()
		defer conn.Release()
		t.Run(name, func(t *testing.T) {
			f(t, conn, shard)
			if len(s.Locks(proof.Key(shard))) != 1 {
				t.Fatal("the shard is not locked during the test")
			}
		})
		return shard
	}
	s.WantLeaked(proof.Key(hold("bad", HoldForTest)))
	s.WantFree(proof.Key(hold("good", HoldForTestDetached)))
}

// With database/sql the driver decides what a cancelled context does.
func TestPinned(t *testing.T) {
	s := proof.Postgres(t)
	stop := func(db *sql.DB, f func(context.Context, *sql.DB, int64, Import) error) (int64, error) {
		shard := s.NewKey()
		return shard, stopped(t, func(ctx context.Context, work Import) error { return f(ctx, db, shard, work) })
	}

	// pgx sends nothing and database/sql throws the connection away: the lock is freed by its end.
	db := s.DB()
	shard, err := stop(db, Pinned)
	if !errors.Is(err, context.Canceled) || db.Stats().OpenConnections != 0 {
		t.Fatalf("stopped with %v and %d connections, want none left", err, db.Stats().OpenConnections)
	}
	s.WantFree(proof.Key(shard))

	// lib/pq does send it; the answer is lost, and nearly always the connection with it: whether it
	// is depends on how fast the server is.
	db = s.PQ()
	shard, err = stop(db, Pinned)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v, want %v", err, context.Canceled)
	}
	s.WantFree(proof.Key(shard))

	db = s.DB()
	shard, err = stop(db, PinnedDetached)
	if errors.Is(err, ErrNotHeld) || db.Stats().OpenConnections != 1 {
		t.Fatalf("stopped with %v and %d connections, want one", err, db.Stats().OpenConnections)
	}
	s.WantFree(proof.Key(shard))
}

// go-sql-driver sends nothing and the connection goes back to the pool with the lock on it.
func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	stop := func(name string, f func(context.Context, *sql.DB, string, Import) error) error {
		return stopped(t, func(ctx context.Context, work Import) error { return f(ctx, s.DB(), name, work) })
	}

	if err := stop("unlockctx.bad", PinnedMySQL); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v, want %v", err, context.Canceled)
	}
	s.WantLeaked("unlockctx.bad")

	if err := stop("unlockctx.good", PinnedMySQLDetached); errors.Is(err, ErrNotHeld) {
		t.Fatal(err)
	}
	s.WantFree("unlockctx.good")
}
