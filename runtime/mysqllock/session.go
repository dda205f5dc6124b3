package mysqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// answerWithin bounds a statement that waits for nothing, and how much later than asked a wait may end:
// generous for a server under load, since a statement that is given up costs the connection.
const answerWithin = 5 * time.Second

// A session is a connection of the pool that one acquire, and then one hold, has for itself. Its methods
// are not called concurrently.
type session struct {
	conn  *sql.Conn
	id    uint64 // CONNECTION_ID(), 0 until the first answer
	unpin func()
}

// open takes a connection out of the pool, unless too few would be left.
func (b *backend) open(ctx context.Context, nested bool) (*session, error) {
	conn, unpin, err := callerpool.Conn(ctx, b.pool, nested)
	if err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}
	return &session{conn: conn, unpin: unpin}, nil
}

// giveBack returns a clean connection to the pool.
func (s *session) giveBack() {
	_ = s.conn.Close() // its only error is that it was given back before
	s.unpin()
}

// destroy closes the connection, so that the server frees what is locked on it.
func (s *session) destroy() {
	discard(s.conn)
	s.unpin()
}

// discard has database/sql close a connection that it would otherwise give to others.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// ask runs a statement that gives the connection's id and n numbers. After an error without a code of
// the server the connection is not to be used.
func (s *session) ask(ctx context.Context, within time.Duration, statement string, n int) ([]sql.NullInt64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSilent)
	defer cancel()
	var id uint64
	numbers := make([]sql.NullInt64, n)
	dest := []any{&id}
	for i := range numbers {
		dest = append(dest, &numbers[i])
	}
	err := s.conn.QueryRowContext(ctx, statement).Scan(dest...)
	// A context that ended while the answer came may have made the driver close the connection, with a
	// nil error.
	if ctx.Err() != nil {
		return nil, ended(ctx, within, err)
	}
	switch {
	case err != nil:
		return nil, err
	case s.id == 0:
		s.id = id
	case s.id != id:
		return nil, fmt.Errorf("%w: connection %d answered for connection %d", lock.ErrPooler, id, s.id)
	}
	return numbers, nil
}

// ended says why a statement's context ended. It does not wrap DeadlineExceeded for the bound of this
// package, which the caller would take for his own.
func ended(ctx context.Context, within time.Duration, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errSilent):
		return fmt.Errorf("%w in %v", cause, within)
	case err == nil || errors.Is(err, cause):
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// held asks whether the connection has every lock of names. An error wraps lock.ErrLost when the server
// says that it has not.
func (s *session) held(ctx context.Context, within time.Duration, names []string) error {
	for part := range slices.Chunk(names, batch) {
		answers, err := s.ask(ctx, within, heldStatement(part), len(part))
		if err != nil {
			return err
		}
		for i, a := range answers {
			if a.Int64 != 1 {
				return fmt.Errorf("%w: connection %d does not hold %q", lock.ErrLost, s.id, part[i])
			}
		}
	}
	return nil
}

// unlock frees the locks of names and ends the session: the connection goes back to the pool only when
// the server has confirmed that nothing is left on it.
func (s *session) unlock(ctx context.Context, names []string) error {
	err := s.release(ctx, names)
	if err != nil {
		s.destroy()
	} else {
		s.giveBack()
	}
	return err
}

func (s *session) release(ctx context.Context, names []string) error {
	var failed error
	for part := range slices.Chunk(names, batch) {
		answers, err := s.ask(ctx, answerWithin, releaseStatement(part), 2*len(part))
		if err != nil {
			return fmt.Errorf("%w: %w", lock.ErrUnconfirmed, err)
		}
		for i, n := range part {
			released, still := answers[i], answers[len(part)+i]
			switch {
			case released.Int64 != 1:
				failed = errors.Join(failed, notHeld(n, released))
			case still.Int64 != 0:
				failed = errors.Join(failed, fmt.Errorf("%w: connection %d still holds %q", lock.ErrUnconfirmed, s.id, n))
			}
		}
	}
	return failed
}

// notHeld says which of the two answers that RELEASE_LOCK has for "no" it gave.
func notHeld(name string, answer sql.NullInt64) error {
	if !answer.Valid {
		return fmt.Errorf("%w: RELEASE_LOCK(%q) answered NULL: no connection holds it", lock.ErrNotHeld, name)
	}
	return fmt.Errorf("%w: RELEASE_LOCK(%q) answered %d: another connection holds it", lock.ErrNotHeld, name, answer.Int64)
}
