package pgxlock

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// A session is one connection out of a pool.
type session struct {
	pooled   *pgxpool.Conn
	conn     *pgx.Conn
	prepared bool   // whether runPrepared may be used
	gone     func() // is told when the session goes back or ends
}

// QueryRow implements pgadvisory.Session. Statements with arguments are run as the pool's configuration
// says: prepared and cached, unless the program chose another way.
func (s *session) QueryRow(ctx context.Context, sql string, args []any, dest ...any) error {
	switch {
	case len(args) == 0:
		args = []any{pgx.QueryExecModeExec}
	case s.prepared:
		return s.runPrepared(ctx, sql, args, dest)
	}
	err := s.conn.QueryRow(ctx, sql, args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return pgadvisory.ErrNoRow
	}
	return err
}

// Park implements pgadvisory.Session. Notifications are for somebody else.
func (s *session) Park(ctx context.Context) error {
	read := func() error {
		_, err := s.conn.WaitForNotification(context.Background())
		return err
	}
	return pgadvisory.ReadUntil(ctx, s.conn.PgConn().Conn(), read, s.conn.IsClosed)
}

// PID implements pgadvisory.Session.
func (s *session) PID() (uint32, bool) { return s.conn.PgConn().PID(), true }

// Return implements pgadvisory.Session.
func (s *session) Return() {
	s.pooled.Release()
	s.gone()
}

// goodbye bounds what Destroy waits for.
const goodbye = 250 * time.Millisecond

// Destroy implements pgadvisory.Session. When pgx has begun to close the connection, because a context
// ended, it is waited for: it tells the server to give up the statement, and only when the server has closed
// its end is it certain that nothing more is granted. A network that is silent is not waited for.
func (s *session) Destroy() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	conn := s.pooled.Hijack()
	_ = conn.Close(ctx) // the error is the network's, and the socket is closed in any case
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
	s.gone()
}
