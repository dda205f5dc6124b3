package main

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/jobrunner/joblock"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// On a quiet machine the pool gives the same connection each time, and all looks well.
func TestQuietRunUnlocks(t *testing.T) {
	s := proof.Postgres(t)
	r := &runner{pool: s.Pool(4)}
	j := job{"invoices", statement(`SELECT 1`)}
	if err := errors.Join(r.runJob(t.Context(), j), r.cleanUp(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.WantFree(proof.Key(joblock.Key("invoices")))
	s.WantFree(proof.Key(joblock.Key("clean-up")))
}

// Stopped by a signal, the runner leaves the job's lock with its pool.
func TestStoppedRunLeavesTheLock(t *testing.T) {
	s := proof.Postgres(t)
	r := &runner{pool: s.Pool(4)}
	ctx, stop := context.WithCancel(t.Context())
	err := r.runJob(ctx, job{"invoices", func(ctx context.Context, _ *pgxpool.Pool) error {
		stop()
		return ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v, want %v", err, context.Canceled)
	}
	s.WantLeaked(proof.Key(joblock.Key("invoices")))
}

// With the lock's connection in other hands, Unlock asks one that has no lock, and says that all is
// well.
func TestUnlockOnThePoolMisses(t *testing.T) {
	s := proof.Postgres(t)
	pool := s.Pool(4)
	if got, err := joblock.TryLock(t.Context(), pool, "clean-up"); !got || err != nil {
		t.Fatalf("got = %v, %v; want the lock", got, err)
	}
	other, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if err := joblock.Unlock(t.Context(), pool, "clean-up"); err != nil {
		t.Fatalf("unlocked with %v, want no error", err)
	}
	s.WantLeaked(proof.Key(joblock.Key("clean-up")))
}
