package pglock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// sessions takes sessions out of a *sql.DB.
type sessions struct {
	pool *callerPool
	kept *sql.DB        // of a Locker that the program keeps, with which the pool stays; nil for Do's
	ends sync.WaitGroup // connections that are being closed
}

type callerPool = callerpool.Pool[sql.DB, pgadvisory.Probe]

// nestedPatience is how long one who holds a lock already waits for a connection of a pool that is in use
// to the last: the work may have it that waits for this very call.
const nestedPatience = time.Second

// Get implements pgadvisory.Sessions.
func (s *sessions) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	db := s.pool.Value()
	stats := db.Stats()
	unpin, err := s.pool.Pin(stats.MaxOpenConnections)
	if err != nil {
		return nil, err
	}
	if nested && stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		var cancel context.CancelFunc
		exhausted := fmt.Errorf("%w: none of %d came free in %v, while a lock is held", lock.ErrPoolExhausted, stats.MaxOpenConnections, nestedPatience)
		ctx, cancel = context.WithTimeoutCause(ctx, nestedPatience, exhausted)
		defer cancel()
	}
	opened, err := db.Conn(ctx)
	if err != nil {
		unpin()
		if cause := context.Cause(ctx); errors.Is(cause, lock.ErrPoolExhausted) {
			return nil, cause
		}
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

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// Park implements pgadvisory.Session. It sets the deadline itself, since a program may have told pgx to send a
// cancel request when a context ends. Notifications are left for whoever listens: pgx keeps them.
func (s *session) Park(ctx context.Context) (err error) {
	if s.pgx == nil {
		return errors.ErrUnsupported
	}
	failed := s.Raw(func(any) error {
		network := s.pgx.PgConn().Conn()
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(interrupted)
			_ = network.SetReadDeadline(past)
		})
		for err == nil {
			err = s.pgx.PgConn().WaitForNotification(context.Background())
		}
		if !stop() {
			<-interrupted
			_ = network.SetReadDeadline(time.Time{})
		}
		if ctx.Err() != nil && !s.pgx.IsClosed() {
			err = nil
		}
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
