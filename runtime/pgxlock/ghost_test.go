package pgxlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// When a grant and the end of lock_timeout meet, the server answers 55P03 and the session has the lock: a ghost.
// These tests make the two meet, with a client that believes the error, which shows that the tests see ghosts, and
// with the Locker.

func TestTimeoutThatMeetsTheGrantLeavesNoLock(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("ghost", "forced")
	s.meet(key, func(wait time.Duration) {
		conn := s.connect()
		err := naive(conn, key, wait)
		if code(err) != "55P03" {
			t.Fatalf("naive client got %v, want SQLSTATE 55P03", err)
		}
		if s.grants(key) != 1 {
			t.Fatal("the naive client has no ghost: the test does not make the grant and the timeout meet")
		}
		_ = conn.Close(context.Background())
	})
	eventually(t, "the naive client's lock is gone with its session", func() bool { return s.grants(key) == 0 })

	l := s.locker()
	if err := take(t, l.Locker, key).Release(context.Background()); err != nil { // has probed, and a connection
		t.Fatal(err)
	}
	var pid int64
	err := endedByServer(t, func() (err error) {
		pid = s.meet(key, func(wait time.Duration) { _, err = l.Acquire(context.Background(), key, lock.Wait(wait)) })
		return err
	})
	if !errors.Is(err, lock.ErrTimeout) || code(err) != "55P03" {
		t.Errorf("Acquire gave %v, want ErrTimeout with SQLSTATE 55P03", err)
	}
	s.free() // with the Locker open: what is left of its session would be there
	h := take(t, l.Locker, key, lock.Try())
	if now := s.holder(key); now != pid {
		t.Errorf("process %d holds the lock, want %d: the session answered, and need not have been closed", now, pid)
	}
	if err := h.Release(context.Background()); err != nil {
		t.Error(err)
	}
}

// meet holds key, lets wait wait for it for a second, stops the server process that waits, unlocks, and lets the
// process go on when its time is over.
func (s *server) meet(key lock.Key, wait func(time.Duration)) (waiter int64) {
	s.tb.Helper()
	const long = time.Second
	holder := s.connect()
	query(s.tb, holder, `SELECT pg_advisory_lock($1)::text`, key.Int64())
	var done sync.WaitGroup
	done.Go(func() { wait(long) })
	eventually(s.tb, "a session waits", func() bool { return s.waiters() == 1 })
	waiter = s.number(`SELECT pid` + here + ` AND NOT granted`)
	start := time.Now()
	s.stop(waiter)
	query(s.tb, holder, `SELECT pg_advisory_unlock($1)::text`, key.Int64())
	time.Sleep(long + long/10 - time.Since(start))
	s.resume(waiter)
	done.Wait()
	return waiter
}

// stop makes a process of the server silent, as a network is that drops everything.
func (s *server) stop(pid int64) {
	s.tb.Helper()
	if err := syscall.Kill(int(pid), syscall.SIGSTOP); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = syscall.Kill(int(pid), syscall.SIGCONT) }) // or the database can't be dropped
}

func (s *server) resume(pid int64) {
	s.tb.Helper()
	if err := syscall.Kill(int(pid), syscall.SIGCONT); err != nil {
		s.tb.Fatal(err)
	}
}

func query(tb testing.TB, conn *pgx.Conn, sql string, args ...any) (text string) {
	tb.Helper()
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&text); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return text
}

// naive waits for key as most programs do.
func naive(conn *pgx.Conn, key lock.Key, wait time.Duration) error {
	var void string
	return conn.QueryRow(context.Background(), `SELECT set_config('lock_timeout', $1, true) || pg_advisory_lock($2)::text`,
		pgadvisory.LockTimeout(wait), key.Int64()).Scan(&void)
}

// code is the SQLSTATE of err.
func code(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}

func TestManyTimeoutsLeaveNoLock(t *testing.T) { ghosts(t, 3000) }

// ghosts lets 20 sessions wait 2 ms each for one lock, which is held for about as long, until so many waits have
// timed out.
func ghosts(t *testing.T, timeouts int64) {
	s := newServer(t)
	key := lock.NewKey("ghost", "contended")
	seen, after := s.naiveGhosts(key)
	if seen == 0 {
		t.Fatalf("naive clients show no ghost in %d timeouts: the test can't see any", after)
	}
	t.Logf("naive clients: %d ghosts in %d timeouts", seen, after)

	// The backend itself, because a Locker lets only one of its callers wait at the server.
	pool := openPool(t, s.url, contenders)
	backend := pgadvisory.New(newOwnPool(pool, contenders), pgadvisory.Options{})
	request := lock.Request{Keys: []lock.Key{key}, Wait: 2 * time.Millisecond, ReleaseTimeout: 10 * time.Second, Lost: func(err error) {
		t.Errorf("lost: %v", err)
	}}
	var out, held atomic.Int64
	contend(func() bool {
		hold, err := backend.Acquire(context.Background(), request)
		switch {
		case errors.Is(err, lock.ErrTimeout):
			return out.Add(1) < timeouts
		case err != nil:
			t.Errorf("acquire: %v", err)
			return false
		}
		held.Add(1)
		time.Sleep(rand.N(4 * time.Millisecond))
		if err := hold.Release(context.Background()); err != nil {
			t.Errorf("release: %v", err)
			return false
		}
		return out.Load() < timeouts
	})
	s.free() // with the pool open: what is left of a session would be there
	if held.Load() == 0 {
		t.Error("nobody got the lock")
	}
	if n := pool.Stat().NewConnsCount(); n > contenders {
		t.Errorf("%d connections were made for %d sessions: some were closed where an unlock was enough", n, contenders)
	}
	t.Logf("the Locker's backend: 0 ghosts in %d timeouts and %d grants", out.Load(), held.Load())
}

const contenders = 20

// contend runs round again and again in 20 goroutines, until it is false in each.
func contend(round func() bool) {
	var all sync.WaitGroup
	for range contenders {
		all.Go(func() {
			for round() {
			}
		})
	}
	all.Wait()
}

// naiveGhosts counts how often a client that got 55P03 holds the lock, until it has seen some.
func (s *server) naiveGhosts(key lock.Key) (ghosts, timeouts int64) {
	s.tb.Helper()
	pool := openPool(s.tb, s.url, contenders)
	defer pool.Close()
	var seen, out atomic.Int64
	contend(func() bool {
		conn, err := pool.Acquire(context.Background())
		if err != nil {
			s.tb.Error(err)
			return false
		}
		defer conn.Release()
		err = naive(conn.Conn(), key, 2*time.Millisecond)
		if err == nil {
			time.Sleep(rand.N(4 * time.Millisecond))
		}
		var unlocked bool // without the server's warning
		failed := conn.QueryRow(context.Background(), `SELECT coalesce(bool_or(pg_advisory_unlock($1)), false)`+here+
			` AND granted AND pid = pg_backend_pid()`, key.Int64()).Scan(&unlocked)
		if failed != nil {
			s.tb.Error(failed)
			return false
		}
		if code(err) == "55P03" {
			out.Add(1)
			if unlocked {
				seen.Add(1)
			}
		}
		return seen.Load() < 5 && out.Load() < 50_000
	})
	return seen.Load(), out.Load()
}
