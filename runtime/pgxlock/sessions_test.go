package pgxlock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// blindSessions gives sessions of a driver that tells no process and can't read between statements.
type blindSessions struct{ pgadvisory.Sessions }

func (s blindSessions) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	session, err := s.Sessions.Get(ctx, nested)
	if err != nil {
		return nil, err
	}
	return blindSession{session}, nil
}

type blindSession struct{ pgadvisory.Session }

func (blindSession) PID() (uint32, bool)        { return 0, false }
func (blindSession) Park(context.Context) error { return errors.ErrUnsupported }

// backend makes a Locker of a backend over other sessions.
func backendLocker(t *testing.T, sessions pgadvisory.Sessions, opts pgadvisory.Options) *lock.Locker {
	t.Helper()
	l, err := lock.New(pgadvisory.New(sessions, opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestDriverThatCanNotReadBetweenStatementsPolls(t *testing.T) {
	s := newServer(t)
	l := backendLocker(t, blindSessions{newOwnPool(openPool(t, s.url, 2), 2)}, pgadvisory.Options{Heartbeat: time.Hour})
	key := lock.NewKey("blind", "lost")
	for range 5 {
		h := take(t, l, key)
		time.Sleep(100 * time.Millisecond)
		if err := h.Check(context.Background()); err != nil {
			t.Errorf("check: %v", err)
		}
		pid := s.holder(key)
		start := time.Now()
		s.exec(`SELECT pg_terminate_backend($1)`, pid)
		lost(t, h) // by a poll, since the heartbeat comes after an hour
		t.Logf("noticed after %v", time.Since(start))
		if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Release gave %v, want ErrLost", err)
		}
	}
	h := take(t, l, key)
	time.Sleep(100 * time.Millisecond)
	if err := h.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
	s.free()
}

func TestDriverThatTellsNoProcessShowsAPoolerByTwoConnections(t *testing.T) {
	for _, c := range []struct {
		mode string
		size int
		want error
	}{
		{"transaction", 2, lock.ErrPooler},
		{"session", 2, nil},
		{"session", 1, nil}, // no second connection to compare with
	} {
		s := behind(t, c.mode)
		pool := openPool(t, s.url, int32(c.size))
		connectAll(t, pool) // or the second connection may not be there in time to compare with
		l := backendLocker(t, blindSessions{newOwnPool(pool, c.size)}, pgadvisory.Options{})
		err := l.Do(context.Background(), lock.NewKey("blind", c.mode), func(context.Context) error { return nil })
		if !errors.Is(err, c.want) {
			t.Errorf("%s mode, %d connections: Do gave %v, want %v", c.mode, c.size, err, c.want)
		}
		s.free()
	}
}

// connectAll has the pool open every connection that it may.
func connectAll(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
}

// shiftingSessions gives a session that another one takes the place of when shift is set, as behind a pooler
// that did not show in the probe.
type shiftingSessions struct {
	pgadvisory.Sessions
	shift *atomic.Bool
}

func (s shiftingSessions) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	session, err := s.Sessions.Get(ctx, nested)
	if err != nil {
		return nil, err
	}
	other, err := s.Sessions.Get(ctx, nested)
	if err != nil {
		session.Destroy()
		return nil, err
	}
	return &shiftingSession{Session: session, other: other, shift: s.shift}, nil
}

type shiftingSession struct {
	pgadvisory.Session
	other pgadvisory.Session
	shift *atomic.Bool
}

func (s *shiftingSession) QueryRow(ctx context.Context, sql string, args []any, dest ...any) error {
	if s.shift.Load() {
		return s.other.QueryRow(ctx, sql, args, dest...)
	}
	return s.Session.QueryRow(ctx, sql, args, dest...)
}

func (s *shiftingSession) Return()  { s.Session.Return(); s.other.Return() }
func (s *shiftingSession) Destroy() { s.Session.Destroy(); s.other.Destroy() }

func TestSessionThatMovesToAnotherProcessIsLost(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("moved", "key")
	var shift atomic.Bool
	l := backendLocker(t, shiftingSessions{newOwnPool(openPool(t, s.url, 8), 8), &shift}, pgadvisory.Options{Heartbeat: 20 * time.Millisecond})
	for _, c := range []struct {
		when string
		do   func(*lock.Handle) error
		want error
	}{
		{"before Release", func(h *lock.Handle) error { return h.Release(context.Background()) }, lock.ErrPooler},
		{"before Check", func(h *lock.Handle) error { return h.Check(context.Background()) }, lock.ErrLost},
		{"before a heartbeat", func(h *lock.Handle) error { <-h.Context().Done(); return context.Cause(h.Context()) }, lock.ErrLost},
	} {
		shift.Store(false)
		h := take(t, l, key)
		shift.Store(true)
		err := c.do(h)
		if !errors.Is(err, c.want) || !errors.Is(err, lock.ErrPooler) {
			t.Errorf("moved %s: got %v, want %v and ErrPooler", c.when, err, c.want)
		}
		_ = h.Release(context.Background()) // a second time, or of a lost one
		s.free()                            // the connection that has the lock was closed
	}
	// Between the probe and the lock.
	if _, err := l.Acquire(context.Background(), key); !errors.Is(err, lock.ErrPooler) {
		t.Errorf("Acquire on another process than the connection's gave %v, want ErrPooler", err)
	}
	s.free()
}

func TestLockThatTheSessionNoLongerHasIsNotHeld(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("stolen", "key")
	pool := openPool(t, s.url, 2)
	stealing := &stealingSessions{Sessions: blindSessions{newOwnPool(pool, 2)}}
	// The watch does not use the session for an hour, so that the thief can.
	l := backendLocker(t, stealing, pgadvisory.Options{PollInterval: time.Hour})
	if err := take(t, l, key).Release(context.Background()); err != nil { // has probed
		t.Fatal(err)
	}

	h := take(t, l, key)
	stealing.steal(t)
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release gave %v, want ErrNotHeld", err)
	}
	h = take(t, l, key)
	stealing.steal(t)
	if err := h.Check(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Check gave %v, want ErrLost", err)
	}
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release gave %v, want ErrLost", err)
	}
	// The probe's second connection is the only one that never had a lock it did not give back.
	eventually(t, "those whose state is not known are closed", func() bool { return pool.Stat().TotalConns() <= 1 })
}

// stealingSessions can unlock everything on the session that it gave last, as nobody should.
type stealingSessions struct {
	pgadvisory.Sessions
	last pgadvisory.Session
}

func (s *stealingSessions) Get(ctx context.Context, nested bool) (session pgadvisory.Session, err error) {
	session, err = s.Sessions.Get(ctx, nested)
	s.last = session
	return session, err
}

func (s *stealingSessions) steal(t *testing.T) {
	t.Helper()
	var void string
	if err := s.last.QueryRow(context.Background(), `SELECT pg_advisory_unlock_all()::text`, nil, &void); err != nil {
		t.Fatal(err)
	}
}
