package poollock

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"xorm.io/xorm"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// occupied is work during which another goroutine has a connection of the pool. Pools hand out the
// connection that came back last, so it has the one that the lock was taken on.
func occupied(t *testing.T, pin func(context.Context) (done func())) Rebuild {
	return func(ctx context.Context, _ int64) error {
		t.Cleanup(pin(ctx))
		return nil
	}
}

func pinSQL(t *testing.T, db *sql.DB) func(context.Context) func() {
	return func(ctx context.Context) func() {
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return func() { conn.Close() }
	}
}

func pinPgx(t *testing.T, pool *pgxpool.Pool) func(context.Context) func() {
	return func(ctx context.Context) func() {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return conn.Release
	}
}

// program is one function of bad.go or good.go, bound to its pool.
type program func(ctx context.Context, shelf int64, rebuild Rebuild) (bool, error)

// bound is a program with the way to occupy a connection of its pool.
type bound struct {
	run program
	pin func(context.Context) func()
}

func onSQL(t *testing.T, db *sql.DB, f func(context.Context, *sql.DB, int64, Rebuild) (bool, error)) bound {
	run := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return f(ctx, db, shelf, r) }
	return bound{run, pinSQL(t, db)}
}

func onPgx(t *testing.T, pool *pgxpool.Pool, f func(context.Context, *pgxpool.Pool, int64, Rebuild) (bool, error)) bound {
	run := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return f(ctx, pool, shelf, r) }
	return bound{run, pinPgx(t, pool)}
}

func onSqlx(t *testing.T, db *sql.DB, f func(context.Context, *sqlx.DB, int64, Rebuild) (bool, error)) bound {
	x := sqlx.NewDb(db, "pgx")
	run := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return f(ctx, x, shelf, r) }
	return bound{run, pinSQL(t, db)}
}

func onBun(t *testing.T, db *sql.DB, f func(context.Context, *bun.DB, int64, Rebuild) (bool, error)) bound {
	b := bun.NewDB(db, pgdialect.New())
	run := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return f(ctx, b, shelf, r) }
	return bound{run, pinSQL(t, db)}
}

func onXorm(t *testing.T, s *proof.Server, f func(context.Context, *xorm.Engine, int64, Rebuild) (bool, error)) bound {
	engine, err := xorm.NewEngine("postgres", s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	run := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return f(ctx, engine, shelf, r) }
	return bound{run, pinSQL(t, engine.DB().DB)}
}

func openCatalog(t *testing.T, s *proof.Server) (*Catalog, *sql.DB) {
	c, err := OpenCatalog(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	db, err := c.gdb.DB()
	if err != nil {
		t.Fatal(err)
	}
	return c, db
}

func TestBadLeavesTheLockBehind(t *testing.T) {
	s := proof.Postgres(t)
	catalog, gormDB := openCatalog(t, s)
	for name, b := range map[string]bound{
		"database/sql": onSQL(t, s.DB(), OnPool),
		"lib/pq":       onSQL(t, s.PQ(), OnPool),
		"pgxpool":      onPgx(t, s.Pool(4), OnPgxPool),
		"gorm":         {catalog.Rebuild, pinSQL(t, gormDB)},
		"sqlx":         onSqlx(t, s.DB(), OnSqlx),
		"bun":          onBun(t, s.DB(), OnBun),
		"xorm":         onXorm(t, s, OnXorm),
		"squirrel":     onSQL(t, s.DB(), OnBuilder),
		"helpers":      onSQL(t, s.DB(), ThroughHelpers),
		"sqlc":         onSQL(t, s.DB(), ThroughQueries),
	} {
		t.Run(name, func(t *testing.T) {
			shelf := s.NewKey()
			released, err := b.run(t.Context(), shelf, occupied(t, b.pin))
			if err != nil || released {
				t.Fatalf("released = %v, %v; want false with no error", released, err)
			}
			s.WantLeaked(proof.Key(shelf))
			s.WantShutOut(shelf)
		})
	}
}

// Two goroutines that meet the same backend are both let in: a session may take its lock twice.
func TestBadLetsTwoIn(t *testing.T) {
	s := proof.Postgres(t)
	pool, shelf, inside := s.Pool(1), s.NewKey(), 0
	_, err := OnPgxPool(t.Context(), pool, shelf, func(ctx context.Context, shelf int64) error {
		_, err := OnPgxPool(ctx, pool, shelf, func(context.Context, int64) error { inside++; return nil })
		return err
	})
	if err != nil || inside != 1 {
		t.Fatalf("second holders inside = %d, %v; want 1", inside, err)
	}
}

func TestGoodReleases(t *testing.T) {
	s := proof.Postgres(t)
	catalog, gormDB := openCatalog(t, s)
	capped := func(ctx context.Context, shelf int64, r Rebuild) (bool, error) { return Capped(ctx, s.DSN, shelf, r) }
	for name, b := range map[string]bound{
		"database/sql": onSQL(t, s.DB(), Pinned),
		"lib/pq":       onSQL(t, s.PQ(), Pinned),
		"pgxpool":      onPgx(t, s.Pool(4), PinnedPgx),
		"gorm":         {catalog.RebuildPinned, pinSQL(t, gormDB)},
		"sqlx":         onSqlx(t, s.DB(), PinnedSqlx),
		"bun":          onBun(t, s.DB(), PinnedBun),
		"capped":       {capped, pinSQL(t, s.DB())},
		"transaction":  onSQL(t, s.DB(), InTransaction),
		"helpers":      onSQL(t, s.DB(), HelpersPinned),
		"sqlc":         onSQL(t, s.DB(), QueriesPinned),
	} {
		t.Run(name, func(t *testing.T) {
			shelf := s.NewKey()
			held := false
			work := occupied(t, b.pin)
			released, err := b.run(t.Context(), shelf, func(ctx context.Context, shelf int64) error {
				held = len(s.Locks(proof.Key(shelf))) == 1
				return work(ctx, shelf)
			})
			if err != nil || !released || !held {
				t.Fatalf("held = %v, released = %v, %v; want both", held, released, err)
			}
			s.WantFree(proof.Key(shelf))
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)

	db := s.DB()
	released, err := OnMySQL(t.Context(), db, "poollock.bad", occupied(t, pinSQL(t, db)))
	if err != nil || !released.Valid || released.Int64 != 0 {
		t.Fatalf("RELEASE_LOCK = %v, %v; want 0: another connection holds it", released, err)
	}
	s.WantLeaked("poollock.bad")

	db = s.DB()
	released, err = PinnedMySQL(t.Context(), db, "poollock.good", occupied(t, pinSQL(t, db)))
	if err != nil || released.Int64 != 1 {
		t.Fatalf("RELEASE_LOCK = %v, %v; want 1", released, err)
	}
	s.WantFree("poollock.good")
}
