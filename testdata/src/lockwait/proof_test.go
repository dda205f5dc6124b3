package lockwait

import (
	"context"
	"errors"
	"testing"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// queryCanceled is the SQLSTATE of a statement that an operator cancelled.
const queryCanceled = "57014"

type job = func(context.Context) error

func on[H any](handle H, program func(H, job) error) func(job) error {
	return func(j job) error { return program(handle, j) }
}

func TestWaitHasNoEnd(t *testing.T) {
	for name, c := range map[string]func(*proof.Server) (unbounded, bounded func(job) error){
		"Backup": func(s *proof.Server) (_, _ func(job) error) {
			return on(s.DB(), Backup), on(s.DB(), BackupInTime)
		},
		"Rotate": func(s *proof.Server) (_, _ func(job) error) {
			return on(s.Pool(1), Rotate), on(s.Pool(1), RotateInTime)
		},
		"Compact": func(s *proof.Server) (_, _ func(job) error) {
			return on(s.DB(), Compact), on(s.DB(), CompactInTime)
		},
		"Archive": func(s *proof.Server) (_, _ func(job) error) {
			return on(s.Gorm(), Archive), on(s.Gorm(), ArchiveInTime)
		},
		"Purge": func(s *proof.Server) (_, _ func(job) error) {
			db := s.DB()
			return on(db, Purge), func(j job) error {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				return PurgeWithin(ctx, db, j)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			unbounded, bounded := c(s)
			ran := make(chan struct{}, 2)
			work := func(context.Context) error { ran <- struct{}{}; return nil }
			let := s.Hold(turn)
			hung := proof.Start(t, func() error { return unbounded(work) })
			waiter := s.WantWaiting()
			// The bounded program begins later and is done with its whole wait; the other one waits on.
			if err := proof.Start(t, func() error { return bounded(work) }).Wait(); err == nil {
				t.Error("the bounded program got a lock that is held")
			}
			s.WantStillWaiting(waiter)
			hung.WantRunning()
			s.Cancel(waiter)
			if err := hung.Wait(); proof.State(err) != queryCanceled {
				t.Errorf("after an operator's cancel: %v, want SQLSTATE %s", err, queryCanceled)
			}
			let()
			if err := bounded(work); err != nil || len(ran) != 1 {
				t.Errorf("with the lock free: %v, and %d jobs ran, want 1", err, len(ran))
			}
			s.WantFree(proof.Key(turn))
		})
	}
}

func TestNegativeTimeoutOnMariaDB(t *testing.T) {
	s := proof.MariaDB(t)
	// The lock is free, and still MariaDB answers NULL. MySQL would grant it, or wait without end.
	err := Prune(s.DB(), func(context.Context) error { t.Error("the job ran"); return nil })
	if !errors.Is(err, ErrBusy) || s.Holder("nightly").Valid {
		t.Errorf("Prune: %v, lock held: %v; want %v and nobody", err, s.Holder("nightly").Valid, ErrBusy)
	}
	ran := false
	if err := PruneInTime(s.DB(), func(context.Context) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("PruneInTime: %v, job ran: %v; want the job run", err, ran)
	}
	s.WantFree("nightly")
	s.Hold("nightly")
	err = proof.Start(t, func() error {
		return PruneInTime(s.DB(), func(context.Context) error { return errors.New("the job ran") })
	}).Wait()
	if !errors.Is(err, ErrBusy) {
		t.Errorf("PruneInTime on a held lock: %v, want %v", err, ErrBusy)
	}
}
