package poolstarve

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// size is the number of connections of each pool, and of posters, each with a ledger of its own: it
// is not the locks that they wait for.
const size = 2

// poster is a program on a pool of size connections.
type poster struct {
	run func(ctx context.Context, ledger int64, check Check) error
	// full reports whether all connections are taken and every poster waits for another one.
	full func() bool
	// gaveUp is the number of posters that have been refused a second connection.
	gaveUp func() int64
}

type onSQL func(context.Context, *sql.DB, int64, Check) error

func (p onSQL) open(_ *testing.T, s *proof.Server) poster { return onDB(s.DB(), p) }

func onDB(db *sql.DB, p onSQL) poster {
	db.SetMaxOpenConns(size)
	return poster{
		run:  func(ctx context.Context, ledger int64, check Check) error { return p(ctx, db, ledger, check) },
		full: func() bool { s := db.Stats(); return s.InUse == size && s.WaitCount == size },
		// WaitCount never goes down: these have waited, and got nothing if they say so.
		gaveUp: func() int64 { return db.Stats().WaitCount },
	}
}

type onPool func(context.Context, *pgxpool.Pool, int64, Check) error

func (p onPool) open(_ *testing.T, s *proof.Server) poster {
	pool := s.Pool(size)
	return poster{
		run: func(ctx context.Context, ledger int64, check Check) error { return p(ctx, pool, ledger, check) },
		// pgxpool does not count those who wait, only those who gave up.
		full:   func() bool { return pool.Stat().AcquiredConns() == size },
		gaveUp: func() int64 { return pool.Stat().CanceledAcquireCount() },
	}
}

type onGorm func(context.Context, *gorm.DB, int64, Check) error

func (p onGorm) open(t *testing.T, s *proof.Server) poster {
	db := s.Gorm()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return onDB(pool, func(ctx context.Context, _ *sql.DB, ledger int64, check Check) error {
		return p(ctx, db, ledger, check)
	})
}

func closeBooks(ctx context.Context, db *sql.DB, ledger int64, check Check) error {
	return NewBooks(db).Close(ctx, ledger, check)
}

// meet returns a check that lets nobody on until all posters are under their locks, and a channel
// that is closed then.
func meet() (Check, <-chan struct{}) {
	var arrived atomic.Int32
	all := make(chan struct{})
	return func(ctx context.Context) error {
		if arrived.Add(1) == size {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, all
}

// startAll runs one poster a ledger.
func startAll(t *testing.T, ctx context.Context, run func(context.Context, int64, Check) error) (posters []*proof.Program) {
	t.Helper()
	check, all := meet()
	for ledger := range int64(size) {
		posters = append(posters, proof.Start(t, func() error { return run(ctx, ledger, check) }))
	}
	if !proof.Soon(func() bool { return closed(all) }) {
		t.Fatal("the posters have not all got their locks")
	}
	return posters
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

const entries = `CREATE TABLE entries (ledger bigint NOT NULL)`

func TestPostersStarveEachOther(t *testing.T) {
	for name, p := range map[string]interface {
		open(*testing.T, *proof.Server) poster
	}{
		"Post":     onSQL(Post),
		"PostTx":   onSQL(PostTx),
		"Close":    onSQL(closeBooks),
		"Count":    onPool(Count),
		"PostGorm": onGorm(PostGorm),
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			s.Exec(entries)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			poster := p.open(t, s)
			posters := startAll(t, ctx, poster.run)
			if !proof.Soon(poster.full) {
				t.Error("the pool is not used up")
			}
			// The server has nothing to do: every lock is held by an idle session.
			for ledger := range int64(size) {
				key := proof.Key(ledger)
				idle := proof.Soon(func() bool { l := s.Locks(key); return len(l) == 1 && l[0].State != "active" })
				if !idle {
					t.Errorf("locks on %s = %+v, want one, idle", key, s.Locks(key))
				}
			}
			for _, p := range posters {
				p.WantRunning()
			}
			cancel() // without it they wait for ever
			for _, p := range posters {
				if err := p.Wait(); !errors.Is(err, context.Canceled) {
					t.Errorf("poster: %v, want %v", err, context.Canceled)
				}
			}
			if n := poster.gaveUp(); n != size {
				t.Errorf("%d posters gave up waiting for a connection, want all %d", n, size)
			}
			for ledger := range int64(size) {
				s.WantFree(proof.Key(ledger))
			}
		})
	}
}

func TestPostersOnTheirOwnConnectionDoNot(t *testing.T) {
	for name, p := range map[string]interface {
		open(*testing.T, *proof.Server) poster
	}{
		"PostHere":     onSQL(PostHere),
		"CountHere":    onPool(CountHere),
		"PostGormHere": onGorm(PostGormHere),
		"TwoPools":     twoPools{},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			s.Exec(entries)
			poster := p.open(t, s)
			for _, p := range startAll(t, t.Context(), poster.run) {
				if err := p.Wait(); err != nil {
					t.Error(err)
				}
			}
			for ledger := range int64(size) {
				s.WantFree(proof.Key(ledger))
			}
		})
	}
}

type twoPools struct{}

func (twoPools) open(_ *testing.T, s *proof.Server) poster {
	work := s.DB()
	work.SetMaxOpenConns(1)
	return onDB(s.DB(), func(ctx context.Context, locks *sql.DB, ledger int64, check Check) error {
		return NewTwoPools(locks, work).Post(ctx, ledger, check)
	})
}

func TestPostersOnMariaDB(t *testing.T) {
	for name, c := range map[string]struct {
		post    func(context.Context, *sql.DB, string, Check) error
		starves bool
	}{
		"PostNamed":     {PostNamed, true},
		"PostNamedHere": {PostNamedHere, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.MariaDB(t)
			db := s.DB()
			if _, err := db.ExecContext(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			poster := onDB(db, func(ctx context.Context, db *sql.DB, ledger int64, check Check) error {
				return c.post(ctx, db, strconv.FormatInt(ledger, 10), check)
			})
			posters := startAll(t, ctx, poster.run)
			if c.starves {
				if !proof.Soon(poster.full) {
					t.Error("the pool is not used up")
				}
				cancel()
			}
			for _, p := range posters {
				if err := p.Wait(); errors.Is(err, context.Canceled) != c.starves || !c.starves && err != nil {
					t.Errorf("poster: %v; starved: %v", err, c.starves)
				}
			}
			for ledger := range int64(size) {
				s.WantFree(strconv.FormatInt(ledger, 10))
			}
		})
	}
}
