//go:build long

package mysqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestLongContextThatEndsAtAnyStepOfAnAcquireLeavesNothing(t *testing.T) {
	cancelledSteps(t, both)
}

func TestLongDropInReleaseOnASilentNetworkEnds(t *testing.T) {
	unconfirmed(t, func(_ *server, w *wire, _ *sql.Conn) { w.each((*tapped).silence) })
}

func TestLongSilenceAtAnyStepOfAnAcquireLeavesNothing(t *testing.T) {
	silentSteps(t, both, 300*time.Millisecond)
}

func TestLongContentionNeverHasTwoInside(t *testing.T) {
	contend(t, newServer(t), 200, 50)
}

// Nothing but the package's own bound ends this.
func TestLongSilenceEndsATry(t *testing.T) {
	s := newServer(t)
	w := &wire{}
	db := s.pool(t, w)
	if err := db.PingContext(patient(t)); err != nil {
		t.Fatal(err)
	}
	w.each((*tapped).silence)
	start := time.Now()
	_, err := s.locker(db).Acquire(patient(t), key(t), lock.Try())
	t.Logf("after %v: %v", time.Since(start), err)
	if err == nil || errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("try: %v, want an error of its own", err)
	}
}

// Without a connection for the KILL, the server itself notices within about a second.
func TestLongCancelledWaitWithoutAConnectionToSpareEnds(t *testing.T) {
	s := newServer(t)
	k := key(t)
	s.take(k.Name64())
	db := s.pool(t, nil)
	db.SetMaxOpenConns(2)
	l := s.locker(db)
	ctx, cancel := context.WithCancel(patient(t))
	done := make(chan error)
	go func() {
		_, err := l.Acquire(ctx, k)
		done <- err
	}()
	s.waiting(k.Name64(), 1)
	busy, err := db.Conn(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	next := make(chan *sql.Conn)
	go func() { // first in line for the connection that the cancel makes room for
		conn, err := db.Conn(patient(t))
		if err != nil {
			t.Error(err)
		}
		next <- conn
	}()
	s.eventually(10*time.Second, func() error {
		if db.Stats().WaitCount == 0 {
			return errors.New("nobody waits for a connection")
		}
		return nil
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	defer (<-next).Close()
	s.waiting(k.Name64(), 0)
}
