package pglock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// sessions takes sessions out of a *sql.DB.
type sessions struct {
	pool   *callerPool
	kept   *sql.DB        // of a Locker that the program keeps, with which the pool stays; nil for Do's
	prompt atomic.Bool    // the driver is known to heed contexts
	ends   sync.WaitGroup // connections that are being opened or closed
}

type callerPool = callerpool.Pool[sql.DB, pgadvisory.Probe]

// Get implements pgadvisory.Sessions.
func (s *sessions) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	take := func() (*sql.Conn, func(), error) { return callerpool.Conn(ctx, s.pool, nested) }
	var opened *sql.Conn
	var unpin func()
	var err error
	if s.prompt.Load() {
		opened, unpin, err = take()
	} else {
		opened, unpin, err = aside(ctx, s.ends.Go, take)
	}
	if err != nil {
		return nil, err
	}
	c, err := below(opened)
	if err != nil {
		opened.Close()
		unpin()
		return nil, err
	}
	s.prompt.Store(c.pgx != nil)
	return &session{conn: c, from: s, unpin: unpin}, nil
}

// Close implements pgadvisory.Sessions. The pool is the caller's. What a silent network still keeps is not
// waited for: a connection that lib/pq opens, and pgx's request to cancel a statement.
func (s *sessions) Close() error {
	ended := make(chan struct{})
	go func() {
		s.ends.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(goodbye):
	}
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

// Destroy implements pgadvisory.Session. Pgx, when a context has ended, first has the server give up the
// statement, and then reads to the end of the connection, each for up to 15 s: long after goodbye.
func (s *session) Destroy() {
	s.hangUp()
	s.unpin()
	if s.pgx == nil || !s.pgx.IsClosed() {
		return
	}
	c := s.pgx.PgConn()
	select {
	case <-c.CleanupDone():
	case <-time.After(goodbye):
		_ = c.Conn().Close() // ends the reading; the error is the network's
		s.from.ends.Go(func() { <-c.CleanupDone() })
	}
}
