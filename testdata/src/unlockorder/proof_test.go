package unlockorder

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// migration is one function of bad.go or good.go, bound to its pool.
type migration func(ctx context.Context, tenant int64, migrate Migrate) error

func on[H any](handle H, f func(context.Context, H, int64, Migrate) error) migration {
	return func(ctx context.Context, tenant int64, migrate Migrate) error {
		return f(ctx, handle, tenant, migrate)
	}
}

func nothing(context.Context) error { return nil }

func TestBadUnlocksAClosedHandleAndLeavesTheLock(t *testing.T) {
	s := proof.Postgres(t)
	for name, migrate := range map[string]migration{
		"defer":         on[*sql.DB](s.DB(), Deferred),
		"defer, lib/pq": on[*sql.DB](s.PQ(), Deferred),
		"inline":        on[*sql.DB](s.DB(), Inline),
		"sqlx":          on[*sqlx.DB](sqlx.NewDb(s.DB(), "pgx"), Sqlx),
	} {
		t.Run(name, func(t *testing.T) {
			tenant := s.NewKey()
			if err := migrate(t.Context(), tenant, nothing); !errors.Is(err, sql.ErrConnDone) {
				t.Fatalf("migrated with %v, want %v", err, sql.ErrConnDone)
			}
			s.WantLeaked(proof.Key(tenant))
			s.WantShutOut(tenant)
		})
	}
}

// A pgx connection that was given back has no connection any more.
func TestBadPanicsAndLeavesTheLock(t *testing.T) {
	s := proof.Postgres(t)
	pool, tenant := s.Pool(2), s.NewKey()
	panicked := func() (p any) {
		defer func() { p = recover() }()
		_ = Pooled(t.Context(), pool, tenant, nothing)
		return nil
	}()
	if panicked == nil {
		t.Fatal("the unlock did not panic")
	}
	s.WantLeaked(proof.Key(tenant))
	s.WantShutOut(tenant)
}

func TestGoodUnlocksFirst(t *testing.T) {
	s := proof.Postgres(t)
	config, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	for name, migrate := range map[string]migration{
		"defer":         on[*sql.DB](s.DB(), DeferredInOrder),
		"defer, lib/pq": on[*sql.DB](s.PQ(), DeferredInOrder),
		"inline":        on[*sql.DB](s.DB(), InlineInOrder),
		"sqlx":          on[*sqlx.DB](sqlx.NewDb(s.DB(), "pgx"), SqlxInOrder),
		"pgxpool":       on[*pgxpool.Pool](s.Pool(2), PooledInOrder),
		"own session":   on[*pgx.ConnConfig](config, OwnSession),
	} {
		t.Run(name, func(t *testing.T) {
			tenant, held := s.NewKey(), 0
			err := migrate(t.Context(), tenant, func(context.Context) error {
				held = len(s.Locks(proof.Key(tenant)))
				return nil
			})
			if err != nil || held != 1 {
				t.Fatalf("held = %d, %v; want 1", held, err)
			}
			s.WantFree(proof.Key(tenant))
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	if err := MySQL(t.Context(), s.DB(), "unlockorder.bad", nothing); !errors.Is(err, sql.ErrConnDone) {
		t.Fatalf("migrated with %v, want %v", err, sql.ErrConnDone)
	}
	s.WantLeaked("unlockorder.bad")

	if err := MySQLInOrder(t.Context(), s.DB(), "unlockorder.good", nothing); err != nil {
		t.Fatal(err)
	}
	s.WantFree("unlockorder.good")
}
