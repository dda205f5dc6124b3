package lockleak

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var errStep = errors.New("step failed")

func fails(context.Context) error    { return errStep }
func succeeds(context.Context) error { return nil }

// night is one function of bad.go or good.go, bound to its pool.
type night func(ctx context.Context, job int64, step Step) error

func on[H any](handle H, f func(context.Context, H, int64, Step) error) night {
	return func(ctx context.Context, job int64, step Step) error { return f(ctx, handle, job, step) }
}

func newJobs(t *testing.T, s *proof.Server) *Jobs {
	jobs, err := NewJobs(s.DB())
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func notDue(ctx context.Context, db *sql.DB, job int64, step Step) error {
	return Claimed(ctx, db, job, false, step)
}

func several(f func(context.Context, *sql.DB, []int64, Step) error) func(context.Context, *sql.DB, int64, Step) error {
	return func(ctx context.Context, db *sql.DB, job int64, step Step) error {
		return f(ctx, db, []int64{job}, step)
	}
}

func TestBadLeavesTheLockOnAnIdleConnection(t *testing.T) {
	s := proof.Postgres(t)
	for name, c := range map[string]struct {
		run  night
		step Step
		want error
	}{
		"early return":             {on[*sql.DB](s.DB(), EarlyReturn), fails, errStep},
		"early return, lib/pq":     {on[*sql.DB](s.PQ(), EarlyReturn), fails, errStep},
		"no unlock":                {on[*pgxpool.Pool](s.Pool(2), NeverUnlocked), succeeds, nil},
		"committed":                {on[*sql.DB](s.DB(), InTransaction), succeeds, nil},
		"rolled back":              {on[*sql.DB](s.DB(), InTransaction), fails, errStep},
		"pgx callback":             {on[*pgxpool.Pool](s.Pool(2), InCallback), succeeds, nil},
		"pgx callback, rolled":     {on[*pgxpool.Pool](s.Pool(2), InCallback), fails, errStep},
		"gorm callback":            {newJobs(t, s).Run, succeeds, nil},
		"helper's lock, not due":   {on[*sql.DB](s.DB(), notDue), succeeds, nil},
		"loop goes on to the next": {on[*sql.DB](s.DB(), several(Each)), fails, nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := s.NewKey()
			if err := c.run(t.Context(), job, c.step); !errors.Is(err, c.want) {
				t.Fatalf("ran with %v, want %v", err, c.want)
			}
			s.WantLeaked(proof.Key(job))
			s.WantShutOut(job)
		})
	}
}

// Whoever gets the connection next has the lock without having waited for it, on top of the first.
func TestBadHandsTheLockToTheNextUser(t *testing.T) {
	s := proof.Postgres(t)
	pool, job := s.Pool(1), s.NewKey()
	for range 2 {
		if err := NeverUnlocked(t.Context(), pool, job, succeeds); err != nil {
			t.Fatalf("ran with %v, want the lock each time", err)
		}
	}
	s.WantLeaked(proof.Key(job))
	if err := NeverUnlocked(t.Context(), s.Pool(1), job, succeeds); !errors.Is(err, errBusy) {
		t.Fatalf("another pool's run = %v, want %v", err, errBusy)
	}
}

func TestGoodUnlocksOnEveryPath(t *testing.T) {
	s := proof.Postgres(t)
	jobs := newJobs(t, s)
	for name, run := range map[string]night{
		"defer":                  on[*sql.DB](s.DB(), DeferredUnlock),
		"defer, lib/pq":          on[*sql.DB](s.PQ(), DeferredUnlock),
		"hijacked":               on[*pgxpool.Pool](s.Pool(2), HijackedAndClosed),
		"discarded":              on[*sql.DB](s.DB(), Discarded),
		"transaction-level":      on[*sql.DB](s.DB(), TransactionLevel),
		"pgx callback":           on[*pgxpool.Pool](s.Pool(2), TransactionLevelCallback),
		"gorm callback":          jobs.RunTransactionLevel,
		"around a transaction":   on[*sql.DB](s.DB(), AroundTransaction),
		"claim with its release": on[*sql.DB](s.DB(), Taken),
		"loop":                   on[*sql.DB](s.DB(), several(EachUnlocked)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []Step{succeeds, fails} {
				job, held := s.NewKey(), 0
				err := run(t.Context(), job, func(ctx context.Context) error {
					held = len(s.Locks(proof.Key(job)))
					return step(ctx)
				})
				if !errors.Is(err, step(t.Context())) || errors.Is(err, errNotHeld) || held != 1 {
					t.Fatalf("held = %d, %v; want 1 and the step's own error", held, err)
				}
				s.WantFree(proof.Key(job))
			}
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	if err := MySQL(t.Context(), s.DB(), "lockleak.bad", fails); !errors.Is(err, errStep) {
		t.Fatalf("ran with %v, want %v", err, errStep)
	}
	s.WantLeaked("lockleak.bad")

	if err := MySQLDeferred(t.Context(), s.DB(), "lockleak.good", fails); !errors.Is(err, errStep) || errors.Is(err, errNotHeld) {
		t.Fatalf("ran with %v, want %v alone", err, errStep)
	}
	s.WantFree("lockleak.good")
}
