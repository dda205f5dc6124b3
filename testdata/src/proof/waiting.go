package proof

import (
	"errors"
	"testing"
	"time"
)

// Waiter is a backend that waits for an advisory lock.
type Waiter struct {
	PID   int32
	Query int64 // when its statement started, in microseconds of the server's clock
}

const waiters = `
SELECT pid, (extract(epoch FROM query_start) * 1e6)::bigint
  FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND wait_event = 'advisory' AND datname = current_database()
   AND clock_timestamp() - query_start > make_interval(secs => $1)`

// WantWaiting fails the test unless a backend comes to wait for an advisory lock. It returns it.
func (s *Server) WantWaiting() Waiter {
	s.tb.Helper()
	return s.WantWaitingBeyond(0)
}

// WantWaitingBeyond is WantWaiting for a backend that has waited for longer than bound, by the
// server's clock. It returns as soon as that is so.
func (s *Server) WantWaitingBeyond(bound time.Duration) (w Waiter) {
	s.tb.Helper()
	if !Soon(func() bool { return s.waiting(bound, &w) }) {
		s.tb.Fatalf("no backend has waited for an advisory lock for more than %v", bound)
	}
	return w
}

// WantStillWaiting fails the test unless w waits in the same statement as when it was found.
func (s *Server) WantStillWaiting(w Waiter) {
	s.tb.Helper()
	var still bool
	const q = `SELECT EXISTS (SELECT FROM (` + waiters + `) AS w (pid, query) WHERE pid = $2 AND query = $3)`
	if err := s.watch.QueryRow(s.tb.Context(), q, 0.0, w.PID, w.Query).Scan(&still); err != nil || !still {
		s.tb.Fatalf("backend %d does not wait any more (%v)", w.PID, err)
	}
}

func (s *Server) waiting(bound time.Duration, w *Waiter) bool {
	s.tb.Helper()
	rows, err := s.watch.Query(s.tb.Context(), waiters, bound.Seconds())
	if err != nil {
		s.tb.Fatal(err)
	}
	defer rows.Close()
	found := rows.Next()
	if found {
		if err := rows.Scan(&w.PID, &w.Query); err != nil {
			s.tb.Fatal(err)
		}
	}
	return found
}

// Cancel cancels the statement that w waits in, as an operator would with pg_cancel_backend.
func (s *Server) Cancel(w Waiter) {
	s.tb.Helper()
	var sent bool
	if err := s.watch.QueryRow(s.tb.Context(), `SELECT pg_cancel_backend($1)`, w.PID).Scan(&sent); err != nil || !sent {
		s.tb.Fatalf("cancel backend %d: %v, %v", w.PID, sent, err)
	}
}

// Program is a run of a program under test in a goroutine of its own.
type Program struct {
	tb   testing.TB
	done chan struct{}
	err  error
}

// Start runs program beside the test.
func Start(tb testing.TB, program func() error) *Program {
	p := &Program{tb: tb, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = program()
	}()
	return p
}

// Wait gives back what the program returned. It fails the test if the program does not end.
func (p *Program) Wait() error {
	p.tb.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(Patience):
		p.tb.Fatal("the program has not ended")
		return nil
	}
}

// WantRunning fails the test if the program has returned.
func (p *Program) WantRunning() {
	p.tb.Helper()
	select {
	case <-p.done:
		p.tb.Fatalf("the program has returned %v, want it still running", p.err)
	default:
	}
}

// State is the SQLSTATE that a PostgreSQL driver's error carries, "" when it carries none.
func State(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}
