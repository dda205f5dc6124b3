package proof

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the database/sql driver "mysql"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// Named is a real MariaDB with a connection of its own that looks at named locks.
type Named struct {
	DSN   string
	tb    testing.TB
	watch *sql.Conn
}

// MariaDB gives the test a MariaDB server.
func MariaDB(tb testing.TB) *Named {
	tb.Helper()
	s := &Named{DSN: testserver.MariaDB(tb), tb: tb}
	s.watch = s.Session()
	return s
}

// DB opens a database/sql pool that keeps its idle connections, as a busy program's does.
func (s *Named) DB() *sql.DB {
	s.tb.Helper()
	db, err := sql.Open("mysql", s.DSN)
	if err != nil {
		s.tb.Fatal(err)
	}
	db.SetMaxIdleConns(8)
	s.tb.Cleanup(func() { db.Close() })
	return db
}

// Session opens one connection in a pool of its own.
func (s *Named) Session() *sql.Conn {
	s.tb.Helper()
	conn, err := s.DB().Conn(context.Background())
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { conn.Close() })
	return conn
}

// Hold takes name in a session of its own, as another instance of the program would.
func (s *Named) Hold(name string) {
	s.tb.Helper()
	var got sql.NullInt64
	row := s.Session().QueryRowContext(context.Background(), `SELECT GET_LOCK(?, 0)`, name)
	if err := row.Scan(&got); err != nil || got.Int64 != 1 {
		s.tb.Fatalf("hold %s: got %v, %v", name, got, err)
	}
}

// Holder is the connection that holds name; not Valid when nobody does.
func (s *Named) Holder(name string) (id sql.NullInt64) {
	s.tb.Helper()
	row := s.watch.QueryRowContext(context.Background(), `SELECT IS_USED_LOCK(?)`, name)
	if err := row.Scan(&id); err != nil {
		s.tb.Fatal(err)
	}
	return id
}

// WantLeaked fails the test unless name is held by a connection with nothing to do.
func (s *Named) WantLeaked(name string) {
	s.tb.Helper()
	holder := s.Holder(name)
	if !holder.Valid {
		s.tb.Fatalf("nobody holds %s, want it left on an idle connection", name)
	}
	// The server sends a statement's result before it shows the connection as asleep.
	var command string
	asleep := Soon(func() bool {
		const q = `SELECT COMMAND FROM information_schema.PROCESSLIST WHERE ID = ?`
		if err := s.watch.QueryRowContext(context.Background(), q, holder.Int64).Scan(&command); err != nil {
			s.tb.Fatal(err)
		}
		return command == "Sleep"
	})
	if !asleep || s.Holder(name) != holder {
		s.tb.Fatalf("the holder of %s shows %q, want it asleep with the lock", name, command)
	}
}

// WantFree fails the test unless nobody holds name, or stops holding it as soon as the server has
// noticed that its client is gone.
func (s *Named) WantFree(name string) {
	s.tb.Helper()
	if !Soon(func() bool { return !s.Holder(name).Valid }) {
		s.tb.Fatalf("connection %d still holds %s", s.Holder(name).Int64, name)
	}
}
