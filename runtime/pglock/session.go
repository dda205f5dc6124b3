package pglock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// sessions takes sessions out of a *sql.DB.
type sessions struct {
	pool *callerPool
	kept *sql.DB        // of a Locker that the program keeps, with which the pool stays; nil for Do's
	ends sync.WaitGroup // connections that are being closed
}

type callerPool = callerpool.Pool[sql.DB, pgadvisory.Probe]

// Get implements pgadvisory.Sessions.
func (s *sessions) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	opened, unpin, err := callerpool.Conn(ctx, s.pool, nested)
	if err != nil {
		return nil, err
	}
	c, err := below(opened)
	if err != nil {
		opened.Close()
		unpin()
		return nil, err
	}
	return &session{conn: c, from: s, unpin: unpin}, nil
}

// Close implements pgadvisory.Sessions. The pool is the caller's.
func (s *sessions) Close() error {
	s.ends.Wait()
	return nil
}

// session is a connection that a lock has for itself.
type session struct {
	conn
	from  *sessions
	unpin func()
}

func (s *session) QueryRow(ctx context.Context, query string, args []any, dest ...any) error {
	return s.queryRow(ctx, query, args, dest...)
}

// Park implements pgadvisory.Session. Notifications are left for whoever listens: pgx keeps them.
func (s *session) Park(ctx context.Context) (err error) {
	if s.pgx == nil {
		return errors.ErrUnsupported
	}
	failed := s.Raw(func(any) error {
		c := s.pgx.PgConn()
		read := func() error { return c.WaitForNotification(context.Background()) }
		err = pgadvisory.ReadUntil(ctx, c.Conn(), read, c.IsClosed)
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

func (s *session) PID() (pid uint32, ok bool) {
	if s.pgx == nil {
		return 0, false
	}
	return s.pgx.PgConn().PID(), true
}

func (s *session) Return() {
	_ = s.Conn.Close() // of a connection that is closed already
	s.unpin()
}

// goodbye is how long Destroy waits for pgx to have the server give up a statement whose context ended:
// until then it may still grant what the statement asks for.
const goodbye = 250 * time.Millisecond

func (s *session) Destroy() {
	s.hangUp()
	s.unpin()
	if s.pgx == nil || !s.pgx.IsClosed() {
		return
	}
	done := s.pgx.PgConn().CleanupDone() // after 15 s at most
	select {
	case <-done:
	case <-time.After(goodbye):
		s.from.ends.Go(func() { <-done })
	}
}
