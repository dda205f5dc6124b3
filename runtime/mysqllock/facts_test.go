package mysqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// These are the facts about MariaDB that the package relies on.

func TestFactGetLockWaitsForFractionsOfASecond(t *testing.T) {
	s := newServer(t)
	s.take(t.Name())
	for _, wait := range []time.Duration{0, 100 * time.Millisecond, 490 * time.Millisecond} {
		start := time.Now()
		if got := s.number("SELECT GET_LOCK(?, ?)", t.Name(), wait.Seconds()); got != 0 {
			t.Errorf("GET_LOCK of a lock that is held answered %d", got)
		}
		took := time.Since(start)
		t.Logf("asked for %v, took %v", wait, took)
		if took < wait-5*time.Millisecond {
			t.Errorf("a wait of %v took %v", wait, took)
		}
	}
}

func TestFactGetLockAnswersNullForErrorsAndNotForBusyLocks(t *testing.T) {
	s := newServer(t)
	s.take(t.Name())
	wantNull := func(what, query string, args ...any) {
		t.Helper()
		var got sql.NullInt64
		if err := s.admin.QueryRow(query, args...).Scan(&got); err != nil || got.Valid {
			t.Errorf("%s: %v, %v; want NULL", what, got, err)
		}
	}
	wantNull("a negative timeout", "SELECT GET_LOCK(?, -1)", t.Name())
	wantNull("an empty name", "SELECT GET_LOCK('', 0)")
	wantNull("max_statement_time", "SET STATEMENT max_statement_time = 0.1 FOR SELECT GET_LOCK(?, 10)", t.Name())
}

func TestFactLocksAreReentrantAndNamesCaseSensitive(t *testing.T) {
	s := newServer(t)
	conn := s.take(t.Name())
	ask := func(query string) (n int) {
		t.Helper()
		if err := conn.QueryRowContext(patient(t), query, t.Name()).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if ask("SELECT GET_LOCK(?, 0)") != 1 || ask("SELECT RELEASE_LOCK(?)") != 1 || s.holder(t.Name()) == 0 {
		t.Error("a lock taken twice is free after one release")
	}
	if ask("SELECT GET_LOCK(UPPER(?), 0)") != 1 || s.holder(t.Name()) == 0 || ask("SELECT RELEASE_LOCK(UPPER(?))") != 1 {
		t.Error("a name in upper case can't be taken and released beside the other")
	}
	if ask("SELECT RELEASE_LOCK(?)") != 1 || s.holder(t.Name()) != 0 {
		t.Error("the lock is held after its second release")
	}
}

// The driver closes the connection; the server needs up to a second to look. The package kills such a
// waiter, see TestCancelledWaitLeavesNothing, which would see this one.
func TestFactCancelledWaiterStaysAtTheServer(t *testing.T) {
	s := newServer(t)
	s.take(t.Name())
	stayed := false
	for try := 0; try < 20 && !stayed; try++ { // the server's look may come just then, but not each time
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := s.admin.ExecContext(ctx, "DO GET_LOCK(?, 10)", t.Name())
			done <- err
		}()
		s.eventually(10*time.Second, func() error {
			if s.plainWaiters() == 0 {
				return errors.New("no waiter")
			}
			return nil
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		start := time.Now()
		time.Sleep(50 * time.Millisecond) // the package's own waiters are gone in a tenth of it
		stayed = s.plainWaiters() > 0
		s.eventually(20*time.Second, func() error {
			if s.plainWaiters() > 0 {
				return errors.New("the waiter is still there")
			}
			return nil
		})
		t.Logf("a waiter stayed for %v", time.Since(start))
	}
	if !stayed {
		t.Error("no waiter stayed after its client had gone")
	}
}

func (s *server) plainWaiters() int64 {
	s.Helper()
	return s.number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'")
}

func TestFactDeadlockIsError1213AndTheVictimKeepsItsLocks(t *testing.T) {
	s := newServer(t)
	a, b := t.Name()+"/a", t.Name()+"/b"
	one, two := s.take(a), s.take(b)
	done := make(chan error)
	go func() {
		_, err := one.ExecContext(patient(t), "DO GET_LOCK(?, 10)", b)
		done <- err
	}()
	s.eventually(10*time.Second, func() error {
		if s.plainWaiters() == 0 {
			return errors.New("no waiter")
		}
		return nil
	})
	var got sql.NullInt64
	err := two.QueryRowContext(patient(t), "SELECT GET_LOCK(?, 10)", a).Scan(&got) // DO would hide the error
	var code *mysql.MySQLError
	if !errors.As(err, &code) || code.Number != 1213 {
		t.Errorf("deadlock: %v, want 1213", err)
	}
	if s.holder(b) == 0 {
		t.Error("the victim lost the lock that it held")
	}
	if _, err := two.ExecContext(patient(t), "DO RELEASE_LOCK(?)", b); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the one who goes on: %v", err)
	}
}
