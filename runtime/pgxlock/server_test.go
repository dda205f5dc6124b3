package pgxlock

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/internal/testserver"
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
	verifyGoroutines(tb)
	return &server{tb: tb, url: url, admin: openPool(tb, url, 4)}
}

// verifyGoroutines looks for goroutines that were not there before, when everything that is opened after it
// is closed.
func verifyGoroutines(tb testing.TB) {
	running := goleak.IgnoreCurrent()
	tb.Cleanup(func() { goleak.VerifyNone(tb, running) })
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

// nothingLeft fails the test when there is an advisory lock or a waiter in the database.
func (s *server) nothingLeft() {
	s.tb.Helper()
	if g, w := s.grants(), s.waiters(); g != 0 || w != 0 {
		s.tb.Errorf("%d grants and %d waiters are left at the server", g, w)
	}
}

// eventually waits until true.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not in 10 s: %s", what)
		}
	}
}

// best gives the smallest of several measurements, which load does not make larger.
func best(tries int, measure func() time.Duration) time.Duration {
	var all []time.Duration
	for range tries {
		all = append(all, measure())
	}
	return slices.Min(all)
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
