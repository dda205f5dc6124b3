// Package proof is what the proof tests of the fixtures share: pools on real servers, and what the
// server itself says of its locks while and after a program runs.
package proof

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	_ "github.com/lib/pq"              // the database/sql driver "postgres"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// Patience bounds every wait for something that a server does on its own, such as noticing that a
// client has closed its connection. Nothing waits that long unless the test is about to fail.
const Patience = 10 * time.Second

// Server is a real PostgreSQL with a session of its own that looks at pg_locks. No program under
// test uses that session.
type Server struct {
	DSN   string
	tb    testing.TB
	watch *pgx.Conn
	keys  int64
}

// Postgres gives the test a PostgreSQL server.
func Postgres(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{DSN: testserver.Postgres(tb), tb: tb}
	s.watch = s.Session()
	return s
}

// DB opens a database/sql pool over pgx. It keeps its idle connections, as a busy program's does.
func (s *Server) DB() *sql.DB { return s.open("pgx") }

// PQ opens a database/sql pool over lib/pq.
func (s *Server) PQ() *sql.DB { return s.open("postgres") }

func (s *Server) open(driver string) *sql.DB {
	s.tb.Helper()
	db, err := sql.Open(driver, s.DSN)
	if err != nil {
		s.tb.Fatal(err)
	}
	db.SetMaxIdleConns(8)
	s.tb.Cleanup(func() { db.Close() })
	return db
}

// Pool opens a pgx pool of at most size connections.
func (s *Server) Pool(size int32) *pgxpool.Pool {
	s.tb.Helper()
	config, err := pgxpool.ParseConfig(s.DSN)
	if err != nil {
		s.tb.Fatal(err)
	}
	config.MaxConns = size
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(pool.Close)
	return pool
}

// Session opens one connection of its own, in no pool.
func (s *Server) Session() *pgx.Conn {
	conn, _ := s.Noticing()
	return conn
}

// Noticing opens one connection of its own and collects the SQLSTATEs of the server's warnings.
func (s *Server) Noticing() (*pgx.Conn, *[]string) {
	s.tb.Helper()
	config, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		s.tb.Fatal(err)
	}
	warnings := &[]string{}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { *warnings = append(*warnings, n.Code) }
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn, warnings
}

// Hold takes key in a session of its own, as another instance of the program would. The function
// that it returns ends that session.
func (s *Server) Hold(key int64) (end func()) {
	s.tb.Helper()
	conn := s.Session()
	var got bool
	if err := conn.QueryRow(context.Background(), `SELECT pg_try_advisory_lock($1)`, key).Scan(&got); err != nil || !got {
		s.tb.Fatalf("hold %d: got %v, %v", key, got, err)
	}
	return func() {
		conn.Close(context.Background())
		s.WantFree(Key(key))
	}
}

// Lock is one granted advisory lock of the test's database, as pg_locks has it.
type Lock struct {
	Key   string // Key or Keys
	Mode  string // "ExclusiveLock", "ShareLock"
	PID   int32
	State string // of the backend: "idle", "active", "idle in transaction"
}

// NewKey returns a key that no other part of the test uses. Every second one is negative, and none
// fits in 32 bits, so that nothing is shown for small positive keys alone.
func (s *Server) NewKey() int64 {
	s.keys++
	key := 7<<32 + s.keys
	if s.keys%2 == 0 {
		return -key
	}
	return key
}

// Key names a one-key lock, Keys a two-key lock: they are different locks to the server.
func Key(k int64) string       { return fmt.Sprint(k) }
func Keys(k1, k2 int32) string { return fmt.Sprintf("(%d,%d)", k1, k2) }

// objsubid tells the two forms apart; classid and objid are unsigned, so the casts below give back
// the key with its sign.
const granted = `
SELECT CASE objsubid
         WHEN 1 THEN ((classid::bigint << 32) | objid::bigint)::text
         ELSE format('(%s,%s)', classid::int4, objid::int4)
       END, mode, l.pid, a.state
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE locktype = 'advisory' AND granted
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// Locks lists the granted locks on key.
func (s *Server) Locks(key string) []Lock {
	s.tb.Helper()
	rows, err := s.watch.Query(context.Background(), granted)
	if err != nil {
		s.tb.Fatal(err)
	}
	locks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Lock])
	if err != nil {
		s.tb.Fatal(err)
	}
	return slices.DeleteFunc(locks, func(l Lock) bool { return l.Key != key })
}

// WantLeaked fails the test unless key is held by a backend with nothing to do: the lock has
// outlived the program that took it. It returns the lock.
func (s *Server) WantLeaked(key string) Lock {
	s.tb.Helper()
	locks := s.Locks(key)
	if len(locks) != 1 || locks[0].State != "idle" {
		s.tb.Fatalf("locks on %s = %+v, want one, left on an idle connection", key, locks)
	}
	return locks[0]
}

// WantShutOut fails the test unless a session that asks for key now is told no. Outside a transaction
// the lock that it asks for would end with the statement, so that there is nothing to give back.
func (s *Server) WantShutOut(key int64) {
	s.tb.Helper()
	var got bool
	row := s.watch.QueryRow(context.Background(), `SELECT pg_try_advisory_xact_lock($1)`, key)
	if err := row.Scan(&got); err != nil || got {
		s.tb.Fatalf("another session got the lock: %v, %v; want it shut out", got, err)
	}
}

// WantFree fails the test unless nobody holds key, or stops holding it as soon as the server has
// noticed that its client is gone.
func (s *Server) WantFree(key string) {
	s.tb.Helper()
	var locks []Lock
	if !Soon(func() bool { locks = s.Locks(key); return len(locks) == 0 }) {
		s.tb.Fatalf("locks on %s = %+v, want none", key, locks)
	}
}

// Soon reports whether holds becomes true within Patience.
func Soon(holds func() bool) bool {
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}
