package unlockresult

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// settlement is one function of bad.go or good.go, bound to its handle.
type settlement func(ctx context.Context, account int64, settle func(Exec) error) error

func on[H any](handle H, f func(context.Context, H, int64, func(Exec) error) error) settlement {
	return func(ctx context.Context, account int64, settle func(Exec) error) error {
		return f(ctx, handle, account, settle)
	}
}

func openGorm(t *testing.T, db *sql.DB) *gorm.DB {
	gdb, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return gdb
}

// giveAway is work that resets its session half way and then lets another instance do the same
// account, which succeeds.
func giveAway(s *proof.Server, account int64, release string) func(Exec) error {
	return func(exec Exec) error {
		if err := exec(release); err != nil {
			return err
		}
		s.Hold(account)() // fails the test when the lock is not free
		return nil
	}
}

func TestBadReportsSuccessAfterTheLockIsLost(t *testing.T) {
	s := proof.Postgres(t)
	for name, settle := range map[string]settlement{
		"database/sql": on[*sql.DB](s.DB(), Settle),
		"pgxpool":      on[*pgxpool.Pool](s.Pool(2), SettleDeferred),
		"pgx.Conn":     on[*pgx.Conn](s.Session(), SettleOwn),
		"gorm":         on[*gorm.DB](openGorm(t, s.DB()), SettlePinned),
		"methods":      on[*sql.DB](s.DB(), SettleThroughMethods),
	} {
		t.Run(name, func(t *testing.T) {
			account := s.NewKey()
			// The unlock answers false, and the program says that all is well.
			if err := settle(t.Context(), account, giveAway(s, account, `SELECT pg_advisory_unlock_all()`)); err != nil {
				t.Fatalf("settled with %v, want no error: nobody reads the answer", err)
			}
		})
	}
}

func TestGoodReportsTheLoss(t *testing.T) {
	s := proof.Postgres(t)
	for name, settle := range map[string]settlement{
		"database/sql": on[*sql.DB](s.DB(), SettleChecked),
		"pgxpool":      on[*pgxpool.Pool](s.Pool(2), SettleDeferredChecked),
		"gorm":         on[*gorm.DB](openGorm(t, s.DB()), SettlePinnedChecked),
		"methods":      on[*sql.DB](s.DB(), SettleThroughMethodsChecked),
	} {
		t.Run(name, func(t *testing.T) {
			account := s.NewKey()
			err := settle(t.Context(), account, giveAway(s, account, `SELECT pg_advisory_unlock_all()`))
			if !errors.Is(err, ErrLost) {
				t.Fatalf("settled with %v, want %v", err, ErrLost)
			}
			if err := settle(t.Context(), account, nothing); err != nil {
				t.Fatalf("settled an account whose lock was kept with %v", err)
			}
			s.WantFree(proof.Key(account))
		})
	}
}

func nothing(Exec) error { return nil }

// Where the session ends, the lock is free without an answer.
func TestGoodEndsTheSession(t *testing.T) {
	s := proof.Postgres(t)
	config, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	for name, settle := range map[string]settlement{
		"own":    on[*pgx.ConnConfig](config, SettleAndHangUp),
		"pooled": on[*sql.DB](s.DB(), SettleAndDiscard),
	} {
		t.Run(name, func(t *testing.T) {
			account, held := s.NewKey(), 0
			err := settle(t.Context(), account, func(Exec) error {
				held = len(s.Locks(proof.Key(account)))
				return nil
			})
			if err != nil || held != 1 {
				t.Fatalf("held = %d, %v; want 1", held, err)
			}
			s.WantFree(proof.Key(account))
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	lose := func(name string) func(Exec) error {
		return func(exec Exec) error {
			if err := exec(`DO RELEASE_ALL_LOCKS()`); err != nil {
				return err
			}
			s.Hold(name)
			return nil
		}
	}
	if err := SettleMySQL(t.Context(), s.DB(), "unlockresult.bad", lose("unlockresult.bad")); err != nil {
		t.Fatalf("settled with %v, want no error: nobody reads the answer", err)
	}
	err := SettleMySQLChecked(t.Context(), s.DB(), "unlockresult.good", lose("unlockresult.good"))
	if !errors.Is(err, ErrLost) {
		t.Fatalf("settled with %v, want %v", err, ErrLost)
	}
	if err := SettleMySQLChecked(t.Context(), s.DB(), "unlockresult.kept", nothing); err != nil {
		t.Fatalf("settled a name whose lock was kept with %v", err)
	}
	s.WantFree("unlockresult.kept")
}
