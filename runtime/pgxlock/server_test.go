package pgxlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A server is a database that a test has for itself, seen by an administrator: not through a lock's session.
type server struct {
	tb    testing.TB
	url   string
	admin *pgxpool.Pool
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	url := testserver.Postgres(tb)
	goroutines.Verify(tb)
	return &server{tb: tb, url: url, admin: openPool(tb, url, 4)}
}

func openPool(tb testing.TB, url string, size int32) *pgxpool.Pool {
	tb.Helper()
	config := parse(tb, url)
	config.MaxConns = size
	return openConfig(tb, config)
}

func openConfig(tb testing.TB, config *pgxpool.Config) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func parse(tb testing.TB, url string) *pgxpool.Config {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	return config
}

// locker makes a Locker that is closed with the test.
func (s *server) locker(opts ...Option) *Locker {
	s.tb.Helper()
	return newLocker(s.tb, s.url, opts...)
}

func newLocker(tb testing.TB, url string, opts ...Option) *Locker {
	tb.Helper()
	l, err := New(context.Background(), parse(tb, url), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() }) // a test may have closed it
	return l
}

// connect gives a connection that is closed with the test.
func (s *server) connect() *pgx.Conn {
	s.tb.Helper()
	conn, err := pgx.Connect(context.Background(), s.url)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = conn.Close(context.Background()) }) // a test may have ended it
	return conn
}

func (s *server) exec(sql string, args ...any) {
	s.tb.Helper()
	if _, err := s.admin.Exec(context.Background(), sql, args...); err != nil {
		s.tb.Fatalf("%s: %v", sql, err)
	}
}

// number runs a query for one number.
func (s *server) number(sql string, args ...any) (n int64) {
	s.tb.Helper()
	if err := s.admin.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.tb.Fatalf("%s: %v", sql, err)
	}
	return n
}

const here = ` FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// grants counts the grants of keys, of all keys when none is given.
func (s *server) grants(keys ...lock.Key) int64 {
	s.tb.Helper()
	if len(keys) == 0 {
		return s.number(`SELECT count(*)` + here + ` AND granted`)
	}
	return s.number(`SELECT count(*)`+here+` AND granted AND (classid::bigint << 32) | objid::bigint = ANY ($1)`, values(keys))
}

func values(keys []lock.Key) []int64 {
	out := make([]int64, len(keys))
	for i, k := range keys {
		out[i] = k.Int64()
	}
	return out
}

// waiters counts those who wait for an advisory lock.
func (s *server) waiters() int64 {
	s.tb.Helper()
	return s.number(`SELECT count(*)` + here + ` AND NOT granted`)
}

// holder is the process that holds key.
func (s *server) holder(key lock.Key) int64 {
	s.tb.Helper()
	return s.number(`SELECT pid`+here+` AND granted AND (classid::bigint << 32) | objid::bigint = $1`, key.Int64())
}

// terminate ends the session that holds key.
func (s *server) terminate(key lock.Key) {
	s.tb.Helper()
	s.exec(`SELECT pg_terminate_backend($1)`, s.holder(key))
}

// free waits until the database has neither an advisory lock nor a waiter: a session that ends says so to its
// client first, and lets go of its locks a moment after.
func (s *server) free() {
	s.tb.Helper()
	eventually(s.tb, "neither lock nor waiter is left", func() bool { return s.grants()+s.waiters() == 0 })
}

// freeAtOnce is for what the server has confirmed: then there is no moment after.
func (s *server) freeAtOnce() {
	s.tb.Helper()
	if g, w := s.grants(), s.waiters(); g != 0 || w != 0 {
		s.tb.Errorf("%d grants and %d waiters are left at the server, which said otherwise", g, w)
	}
}

// patience bounds what must happen, on a machine however loaded, and is less than the 15 s for which pgx waits
// for a network that is silent.
const patience = 10 * time.Second

// eventually waits until true.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// lost waits for the end of the lock, and wants that it is known for a loss.
func lost(tb testing.TB, h *lock.Handle) {
	tb.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(patience):
		tb.Fatalf("the loss is not noticed in %v", patience)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, lock.ErrLost) {
		tb.Errorf("cause is %v, want ErrLost", cause)
	}
}

// endedByServer gives the error of a wait that the server ended. On a loaded machine the client may give up
// before it has heard of that, half a second late: then it is tried again.
func endedByServer(tb testing.TB, wait func() error) (err error) {
	tb.Helper()
	for range 20 {
		if err = wait(); code(err) != "" || !errors.Is(err, lock.ErrTimeout) {
			return err
		}
		tb.Logf("the client gave up first: %v", err)
	}
	return err
}

func take(tb testing.TB, l *lock.Locker, key lock.Key, opts ...lock.Option) *lock.Handle {
	tb.Helper()
	h, err := l.Acquire(context.Background(), key, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// contains reports whether err says text.
func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
