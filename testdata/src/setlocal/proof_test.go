package setlocal

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const (
	shelf = 620
	// bounded is well past the programs' timeout of 20 ms. A backend that waits longer has no timeout.
	bounded = 200 * time.Millisecond

	lockNotAvailable   = "55P03"
	noTransaction      = "25P01" // the warning on SET LOCAL outside a transaction
	showTimeout        = `SHOW lock_timeout`
	timeoutIsUnlimited = "0"
)

// run is a program with its handle; during the work it reports the lock_timeout of its session.
type run func(ctx context.Context, show func(timeout string)) error

func onConn(db *sql.DB, program func(context.Context, *sql.DB, int64, func(context.Context, *sql.Conn) error) error) run {
	return func(ctx context.Context, show func(string)) error {
		return program(ctx, db, shelf, func(ctx context.Context, conn *sql.Conn) error {
			return shown(conn.QueryRowContext(ctx, showTimeout), show)
		})
	}
}

func onTx(db *sql.DB, program func(context.Context, *sql.DB, int64, func(context.Context, *sql.Tx) error) error) run {
	return func(ctx context.Context, show func(string)) error {
		return program(ctx, db, shelf, func(ctx context.Context, tx *sql.Tx) error {
			return shown(tx.QueryRowContext(ctx, showTimeout), show)
		})
	}
}

func onPool(pool *pgxpool.Pool, program func(context.Context, *pgxpool.Pool, int64, func(context.Context, *pgxpool.Conn) error) error) run {
	return func(ctx context.Context, show func(string)) error {
		return program(ctx, pool, shelf, func(ctx context.Context, conn *pgxpool.Conn) error {
			return shown(conn.QueryRow(ctx, showTimeout), show)
		})
	}
}

func onGorm(t *testing.T, db *sql.DB, program func(*Catalogue, context.Context, int64, func(*gorm.DB) error) error) run {
	c, err := NewCatalogue(postgres.New(postgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, show func(string)) error {
		return program(c, ctx, shelf, func(tx *gorm.DB) error { return shown(tx.Raw(showTimeout).Row(), show) })
	}
}

func shown(row interface{ Scan(...any) error }, show func(string)) error {
	var timeout string
	if err := row.Scan(&timeout); err != nil {
		return err
	}
	show(timeout)
	return nil
}

// clients are the pools of one program, with the warnings that the server sends to them.
type clients struct {
	db       *sql.DB
	pool     *pgxpool.Pool
	warnings []string
}

func open(t *testing.T, s *proof.Server) *clients {
	t.Helper()
	config, err := pgxpool.ParseConfig(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	c := &clients{}
	// The programs below run one statement at a time, so that this needs no lock.
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.warnings = append(c.warnings, n.Code) }
	// With one connection, a setting made on the pool could not even miss the session of the lock.
	config.MaxConns = 1
	c.db = stdlib.OpenDB(*config.ConnConfig)
	c.db.SetMaxOpenConns(1)
	t.Cleanup(func() { c.db.Close() })
	if c.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.pool.Close)
	return c
}

func TestTimeoutIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*testing.T, *clients) run
		warn bool
	}{
		"Reindex":   {func(_ *testing.T, c *clients) run { return onConn(c.db, Reindex) }, true},
		"Inventory": {func(_ *testing.T, c *clients) run { return onPool(c.pool, Inventory) }, false},
		"Relabel":   {func(_ *testing.T, c *clients) run { return onTx(c.db, Relabel) }, true},
		"Merge":     {func(t *testing.T, c *clients) run { return onGorm(t, c.db, (*Catalogue).Merge) }, true},
		"Dust":      {func(_ *testing.T, c *clients) run { return onConn(c.db, Dust) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			clients := open(t, s)
			run, timeout := c.run(t, clients), ""
			let := s.Hold(shelf)
			program := proof.Start(t, func() error { return run(t.Context(), func(v string) { timeout = v }) })
			s.WantWaitingBeyond(bounded)
			program.WantRunning()
			let()
			if err := program.Wait(); err != nil {
				t.Fatal(err)
			}
			if timeout != timeoutIsUnlimited {
				t.Errorf("lock_timeout = %q during the work, want %q", timeout, timeoutIsUnlimited)
			}
			if got := slices.Contains(clients.warnings, noTransaction); got != c.warn {
				t.Errorf("warnings = %q, want %s: %v", clients.warnings, noTransaction, c.warn)
			}
		})
	}
}

func TestTimeoutEndsTheWait(t *testing.T) {
	for name, open1 := range map[string]func(*testing.T, *clients) run{
		"ReindexBounded":   func(_ *testing.T, c *clients) run { return onConn(c.db, ReindexBounded) },
		"InventoryBounded": func(_ *testing.T, c *clients) run { return onPool(c.pool, InventoryBounded) },
		"RelabelBounded":   func(_ *testing.T, c *clients) run { return onTx(c.db, RelabelBounded) },
		"MergeBounded":     func(t *testing.T, c *clients) run { return onGorm(t, c.db, (*Catalogue).MergeBounded) },
		"Sweep": func(_ *testing.T, c *clients) run {
			return func(ctx context.Context, show func(string)) error { return Sweep(ctx, c.pool) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			s.Exec(`CREATE TABLE shelves (swept timestamptz)`)
			clients := open(t, s)
			run := open1(t, clients)
			let := s.Hold(shelf)
			// Nobody lets go of the shelf: only the timeout can end this.
			err := proof.Start(t, func() error { return run(t.Context(), func(string) {}) }).Wait()
			if proof.State(err) != lockNotAvailable {
				t.Fatalf("on a busy shelf: %v, want SQLSTATE %s", err, lockNotAvailable)
			}
			let()
			if err := run(t.Context(), func(string) {}); err != nil {
				t.Errorf("on a free shelf: %v", err)
			}
			s.WantFree(proof.Key(shelf))
			var after [2]string
			err = errors.Join(clients.db.QueryRowContext(t.Context(), showTimeout).Scan(&after[0]),
				clients.pool.QueryRow(t.Context(), showTimeout).Scan(&after[1]))
			if err != nil || after != [2]string{"0", "0"} {
				t.Errorf("lock_timeout left behind = %q, %v", after, err)
			}
			if slices.Contains(clients.warnings, noTransaction) {
				t.Errorf("warnings = %q, want no %s", clients.warnings, noTransaction)
			}
		})
	}
}
