package limitlock

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// parcels has no index but the one of id, which no statement here sorts by: the server has to look
// at every row before it knows which come first.
const parcels = `
CREATE TABLE parcels (id bigint PRIMARY KEY, grams int NOT NULL, dock int NOT NULL);
INSERT INTO parcels SELECT n, 1000 - n, 100 + n % 10 FROM generate_series(1, 60) AS n`

// counts are what one claim leaves behind in its open transaction.
type counts struct{ returned, locked int }

// locked is the number of advisory locks that the session of q holds.
const locked = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`

// inPgx runs claim in a transaction of pgx and counts before it ends.
func inPgx(claim func(context.Context, pgx.Tx) ([]int64, error)) func(*testing.T, *proof.Server) counts {
	return func(t *testing.T, s *proof.Server) (c counts) {
		tx, err := s.Session().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(context.Background())
		ids, err := claim(t.Context(), tx)
		if err != nil {
			t.Fatal(err)
		}
		c.returned = len(ids)
		if err := tx.QueryRow(t.Context(), locked).Scan(&c.locked); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// inSqlx is inPgx for sqlx, whose transaction is also one of database/sql.
func inSqlx(claim func(context.Context, *sqlx.Tx) ([]int64, error)) func(*testing.T, *proof.Server) counts {
	return func(t *testing.T, s *proof.Server) (c counts) {
		tx, err := s.Sqlx().BeginTxx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		ids, err := claim(t.Context(), tx)
		if err != nil {
			t.Fatal(err)
		}
		c.returned = len(ids)
		if err := tx.GetContext(t.Context(), &c.locked, locked); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// inGorm is inPgx for a claim that opens its own transaction.
func inGorm(next func(*Sorter, context.Context, func(*gorm.DB, int64) error) error) func(*testing.T, *proof.Server) counts {
	return func(t *testing.T, s *proof.Server) (c counts) {
		err := next(NewSorter(s.Gorm()), t.Context(), func(tx *gorm.DB, id int64) error {
			c.returned++
			return tx.Raw(locked).Scan(&c.locked).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// one makes a list of a claim of one parcel.
func one(id int64, err error) ([]int64, error) { return []int64{id}, err }

func TestLimitDoesNotBoundTheLocks(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*testing.T, *proof.Server) counts
		want counts
	}{
		"Lightest": {inPgx(func(ctx context.Context, tx pgx.Tx) ([]int64, error) { return one(Lightest(ctx, tx)) }), counts{1, 60}},
		"Docks":    {inPgx(func(ctx context.Context, tx pgx.Tx) ([]int64, error) { return Docks(ctx, tx, 2) }), counts{2, 10}},
		"FirstBy":  {inPgx(func(ctx context.Context, tx pgx.Tx) ([]int64, error) { return one(FirstBy(ctx, tx, "grams")) }), counts{1, 60}},
		"Heaviest": {inSqlx(func(ctx context.Context, tx *sqlx.Tx) ([]int64, error) { return Heaviest(ctx, tx, 3) }), counts{3, 60}},
		"Derived":  {inSqlx(func(ctx context.Context, tx *sqlx.Tx) ([]int64, error) { return one(Derived(ctx, tx.Tx)) }), counts{1, 60}},
		"AtDock":   {inSqlx(func(ctx context.Context, tx *sqlx.Tx) ([]int64, error) { return one(AtDock(ctx, tx.Tx, 104)) }), counts{1, 6}},
		"Next":     {inGorm((*Sorter).Next), counts{1, 60}},
	} {
		t.Run(name, func(t *testing.T) {
			// At least: where another condition stands beside the lock function, the planner chooses which
			// of the two it asks first.
			if got := count(t, c.run); got.returned != c.want.returned || got.locked < c.want.locked {
				t.Errorf("returned and locked rows = %+v, want %+v or more locked", got, c.want)
			}
		})
	}
}

func TestLimitBelowTheLockBoundsIt(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*testing.T, *proof.Server) counts
		want counts
	}{
		"LightestOf":  {inPgx(func(ctx context.Context, tx pgx.Tx) ([]int64, error) { return one(LightestOf(ctx, tx, 5)) }), counts{1, 1}},
		"LightestCTE": {inPgx(func(ctx context.Context, tx pgx.Tx) ([]int64, error) { return one(LightestCTE(ctx, tx)) }), counts{1, 1}},
		"HeaviestOf":  {inSqlx(func(ctx context.Context, tx *sqlx.Tx) ([]int64, error) { return HeaviestOf(ctx, tx, 3) }), counts{3, 3}},
		"EveryFree":   {inSqlx(EveryFree), counts{60, 60}},
		"NextRow":     {inSqlx(func(ctx context.Context, tx *sqlx.Tx) ([]int64, error) { return one(NextRow(ctx, tx.Tx)) }), counts{1, 0}},
		"NextOf":      {inGorm((*Sorter).NextOf), counts{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := count(t, c.run); got != c.want {
				t.Errorf("returned and locked rows = %+v, want %+v", got, c.want)
			}
		})
	}
}

func count(t *testing.T, run func(*testing.T, *proof.Server) counts) counts {
	t.Helper()
	s := proof.Postgres(t)
	s.Exec(parcels)
	return run(t, s)
}

func TestLimitOnMariaDB(t *testing.T) {
	for name, c := range map[string]struct {
		claim  func(context.Context, *sql.Conn) (int64, error)
		locked int
	}{
		"Bin":   {Bin, 20},
		"BinOf": {BinOf, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.MariaDB(t)
			s.WantFree("parcel-20") // names belong to the server: the last test's session must be gone
			conn := s.Session()
			for _, q := range []string{
				`CREATE TABLE parcels (id int PRIMARY KEY, grams int NOT NULL)`,
				`INSERT INTO parcels SELECT seq, 1000 - seq FROM seq_1_to_20`,
			} {
				if _, err := conn.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			id, err := c.claim(t.Context(), conn)
			if err != nil || id != 20 {
				t.Fatalf("claimed parcel %d, %v, want the lightest, 20", id, err)
			}
			var locked int
			const q = `SELECT count(*) FROM parcels WHERE IS_USED_LOCK(CONCAT('parcel-', id)) IS NOT NULL`
			if err := conn.QueryRowContext(t.Context(), q).Scan(&locked); err != nil {
				t.Fatal(err)
			}
			if locked != c.locked {
				t.Errorf("%d parcels are locked, want %d", locked, c.locked)
			}
		})
	}
}
