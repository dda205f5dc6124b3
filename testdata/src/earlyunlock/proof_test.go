package earlyunlock

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func nothing(context.Context) error { return nil }

func pin(t *testing.T, db *sql.DB) *sql.Conn {
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// notOwned is the SQLSTATE of the warning "you don't own a lock of type ExclusiveLock".
const notOwned = "01000"

// On a connection of its own the loser has nothing to free, and the server says so.
func TestBadFreesWhatItDoesNotHave(t *testing.T) {
	s := proof.Postgres(t)
	lane := s.NewKey()
	defer s.Hold(lane)()

	conn, warnings := s.Noticing()
	released, err := Deferred(t.Context(), conn, lane, nothing)
	if released || !errors.Is(err, errBusy) || !slices.Contains(*warnings, notOwned) {
		t.Fatalf("released = %v, %v, warnings %v; want false, %v and %s", released, err, *warnings, errBusy, notOwned)
	}
	// Here the failing unlock even hides that the lane was busy.
	err = Refused(t.Context(), pin(t, s.DB()), lane, nothing)
	if !errors.Is(err, errNotHeld) || errors.Is(err, errBusy) {
		t.Fatalf("refused with %v, want %v alone", err, errNotHeld)
	}
}

func TestGoodFreesOnlyWhatItHas(t *testing.T) {
	s := proof.Postgres(t)
	lane := s.NewKey()
	for name, f := range map[string]func(context.Context, *pgx.Conn, int64, Print) (bool, error){
		"after the check": DeferredAfterCheck, "guarded": DeferredGuarded,
	} {
		t.Run(name, func(t *testing.T) {
			conn, warnings := s.Noticing()
			end := s.Hold(lane)
			if _, err := f(t.Context(), conn, lane, nothing); !errors.Is(err, errBusy) {
				t.Fatalf("refused with %v, want %v", err, errBusy)
			}
			end()
			if released, err := f(t.Context(), conn, lane, nothing); !released || err != nil {
				t.Fatalf("released = %v, %v; want true", released, err)
			}
			if len(*warnings) > 0 {
				t.Fatalf("warnings %v, want none", *warnings)
			}
			s.WantFree(proof.Key(lane))
		})
	}
	conn := pin(t, s.DB())
	end := s.Hold(lane)
	if err := RefusedPlainly(t.Context(), conn, lane, nothing); !errors.Is(err, errBusy) {
		t.Fatalf("refused with %v, want %v", err, errBusy)
	}
	end()
	if err := errors.Join(RefusedPlainly(t.Context(), conn, lane, nothing), Waiting(t.Context(), conn, lane, nothing)); err != nil {
		t.Fatal(err)
	}
	s.WantFree(proof.Key(lane))
}

// An unlock after a timeout of the blocking lock does no harm when the lock was not granted.
func TestGoodUnlocksAfterATimeout(t *testing.T) {
	s := proof.Postgres(t)
	lane := s.NewKey()
	end := s.Hold(lane)
	conn := pin(t, s.DB())
	if _, err := conn.ExecContext(t.Context(), `SET lock_timeout = '1ms'`); err != nil {
		t.Fatal(err)
	}
	err := Waiting(t.Context(), conn, lane, nothing)
	var state interface{ SQLState() string }
	if !errors.As(err, &state) || state.SQLState() != "55P03" || errors.Is(err, errNotHeld) {
		t.Fatalf("waited with %v, want lock_not_available alone", err)
	}
	end()
	s.WantFree(proof.Key(lane))
}

// meet lets a second job find the lane taken, in a program whose pool has the holder's connection at
// hand when that job unlocks. Pools hand out the connection that came back last.
func meet(t *testing.T, db *sql.DB, job func(busy func(), run Print) error, whilePrinting func()) {
	err := job(func() { t.Fatal("the first job finds its lane taken") }, func(ctx context.Context) error {
		holders, err := db.Conn(ctx) // the connection with the lock, in use for something else
		if err != nil {
			return err
		}
		second := job(func() { holders.Close() }, nothing)
		if !errors.Is(second, errBusy) {
			t.Fatalf("second job ended with %v, want %v", second, errBusy)
		}
		whilePrinting()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadFreesTheHoldersLock(t *testing.T) {
	s := proof.Postgres(t)
	db, lane, others := s.DB(), s.NewKey(), 0
	job := func(busy func(), run Print) error { return Pooled(t.Context(), db, lane, busy, run) }
	meet(t, db, job, func() {
		s.Hold(lane)() // fails the test when the lane is not free
		others++
	})
	if others != 1 {
		t.Fatalf("others let in while the first job prints = %d, want 1", others)
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	meetOn := func(name string, f func(context.Context, *sql.DB, string, func(), Print) error) (held bool) {
		db := s.DB()
		job := func(busy func(), run Print) error { return f(t.Context(), db, name, busy, run) }
		meet(t, db, job, func() { held = s.Holder(name).Valid })
		return held
	}
	if meetOn("earlyunlock.bad", PooledMySQL) {
		t.Fatal("the first job still has its lock, want it freed by the second")
	}
	if !meetOn("earlyunlock.good", PinnedMySQL) {
		t.Fatal("the first job lost its lock")
	}
	s.WantFree("earlyunlock.good")
}
