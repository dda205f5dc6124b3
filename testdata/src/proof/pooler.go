package proof

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// Pooler gives the test a PostgreSQL behind a PgBouncer of the given mode. The server's clients go
// through PgBouncer; its watching session goes to the server, whose URL is direct.
func Pooler(tb testing.TB, mode string) (s *Server, direct string) {
	tb.Helper()
	pooled, err := url.Parse(testserver.PgBouncer(tb, mode))
	if err != nil {
		tb.Fatal(err)
	}
	// All databases of a test binary are in one server, so any of them shows where it listens.
	server, err := url.Parse(testserver.Postgres(tb))
	if err != nil {
		tb.Fatal(err)
	}
	server.Path = pooled.Path
	// PgBouncer before 1.21 knows no prepared statements in transaction mode.
	query := pooled.Query()
	query.Set("default_query_exec_mode", "exec")
	pooled.RawQuery = query.Encode()
	s = &Server{DSN: pooled.String(), tb: tb}
	if s.watch, err = pgx.Connect(context.Background(), server.String()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.watch.Close(context.Background()) })
	return s, server.String()
}
