package mysqllock_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

// steps does the same again and again, with something happening at its first read or write, then at its
// second, and so on, until it has fewer. It ends with what was done once.
func steps(t *testing.T, w *wire, act func(*tapped), once func(n int)) {
	t.Helper()
	n := 1
	for ; ; n++ {
		w.arm(n, act)
		once(n)
		if !w.disarm() {
			break
		}
	}
	t.Logf("%d reads and writes", n-1)
	if n < 3 {
		t.Errorf("something happened at %d reads and writes only", n-1)
	}
}

var errEnough = errors.New("enough")

func TestContextThatEndsAtAnyStepOfAnAcquireLeavesNothing(t *testing.T) {
	cancelledSteps(t, []bool{true})
}

// cancelledSteps cancels an acquire at each of its steps.
func cancelledSteps(t *testing.T, connections []bool) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	var cancel context.CancelCauseFunc
	act := func(*tapped) { cancel(errEnough) }
	atEachStepOfAnAcquire(t, s, connections, act, func(l *mysqllock.Locker, keys []lock.Key) {
		var ctx context.Context
		ctx, cancel = context.WithCancelCause(patient(t))
		defer cancel(nil)
		h, err := l.AcquireAll(ctx, keys)
		if err != nil {
			if !errors.Is(err, errEnough) {
				t.Errorf("cancelled: %v, want the context's cause", err)
			}
			return
		}
		if err := h.Release(ctx); err != nil { // a lock that was given is good
			t.Errorf("release: %v", err)
		}
	})
}

func TestConnectionThatIsCutAtAnyStepOfAnAcquireLeavesNothing(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	cut := func(c *tapped) { c.Conn.Close() }
	atEachStepOfAnAcquire(t, s, both, cut, func(l *mysqllock.Locker, keys []lock.Key) {
		h, err := l.AcquireAll(patient(t), keys)
		if err != nil {
			return
		}
		if err := h.Release(patient(t)); err != nil && !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("release: %v", err)
		}
	})
}

func TestNetworkThatFallsSilentAtAnyStepOfAnAcquireLeavesNothing(t *testing.T) {
	silentSteps(t, []bool{true}, 50*time.Millisecond)
}

// silentSteps has the network fall silent at each step of an acquire that may last for some time: longer on a
// machine that does not get to the step.
func silentSteps(t *testing.T, connections []bool, within time.Duration) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	var silent atomic.Bool
	fall := func(c *tapped) { silent.Store(true); c.silence() }
	acquire := func(l *mysqllock.Locker, keys []lock.Key, within time.Duration) (ok bool) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		h, err := l.AcquireAll(ctx, keys)
		switch {
		case err == nil:
			err = h.Release(ctx)
			if err != nil && !errors.Is(err, lock.ErrUnconfirmed) && !errors.Is(err, lock.ErrLost) {
				t.Errorf("release: %v", err)
			}
		case !errors.Is(err, lock.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("acquire: %v, want ErrTimeout and DeadlineExceeded", err)
		}
		return err == nil
	}
	atEachStepOfAnAcquire(t, s, connections, fall, func(l *mysqllock.Locker, keys []lock.Key) {
		silent.Store(false)
		for within := within; !acquire(l, keys, within) && !silent.Load() && within < time.Minute; within *= 2 {
			t.Logf("not silent within %v", within)
		}
	})
}

// A driver that sees the end of the context while it gives on the answer may close the connection and
// report no error. There is no lock on it then.
func TestAnswerThatMeetsTheEndOfItsContextIsNoGrant(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(patient(t))
	db := s.poolOf(func(c driver.Connector) driver.Connector { return hasty{c, cancel} })
	if _, err := s.locker(db).Acquire(ctx, key(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v, want Canceled", err)
	}
	s.wantNothing(key(t).Name64())
}

// hasty is such a driver, as far as it takes: its context ends when an answer has been read.
type hasty struct {
	driver.Connector
	cancel func()
}

type hastyConn struct {
	driver.Conn
	cancel func()
}

type hastyRows struct {
	driver.Rows
	conn hastyConn
}

func (h hasty) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := h.Connector.Connect(ctx)
	return hastyConn{conn, h.cancel}, err
}

func (c hastyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(context.WithoutCancel(ctx), query, args)
	if err != nil {
		return nil, err
	}
	return hastyRows{rows, c}, nil
}

func (r hastyRows) Close() error {
	r.conn.cancel()
	return errors.Join(r.Rows.Close(), r.conn.Close())
}

// both are the connections that an acquire may find: none yet, or an open one.
var both = []bool{false, true}

// atEachStepOfAnAcquire tries two keys with fencing, on a connection that is opened for it and on one
// that was there, and wants that afterwards nothing is left of any of it.
func atEachStepOfAnAcquire(t *testing.T, s *server, connections []bool, act func(*tapped), once func(*mysqllock.Locker, []lock.Key)) {
	for _, opened := range connections {
		t.Run(fmt.Sprintf("connection opened before %v", opened), func(t *testing.T) {
			keys := []lock.Key{key(t, "a"), key(t, "b")}
			w := &wire{}
			steps(t, w, act, func(n int) {
				db := s.pool(t, w)
				defer db.Close()
				if opened {
					w.arm(1<<30, nil)
					if err := db.PingContext(patient(t)); err != nil {
						t.Fatal(err)
					}
					w.arm(n, act)
				}
				l := s.locker(db, mysqllock.Fencing(), mysqllock.Defaults(lock.ReleaseTimeout(100*time.Millisecond)))
				once(l, keys)
				s.wantNothing(keys[0].Name64(), keys[1].Name64())
				l.Close() // waits for the KILL of a waiter, which needs a connection, too
				if st := db.Stats(); st.InUse != 0 {
					t.Errorf("step %d: %d connections in use", n, st.InUse)
				}
			})
		})
	}
}

// killsSent is how many KILLs the server got, whoever sent them.
const killsSent = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_KILL'"

func TestCancelledWaitLeavesNothing(t *testing.T) {
	s := newServer(t)
	k := key(t)
	holder := s.take(k.Name64())
	db := s.pool(t, nil)
	l := s.locker(db)
	kills := s.number(killsSent)
	for try := 0; try < 5 || s.number(killsSent) == kills && try < 20; try++ {
		ctx, cancel := context.WithCancelCause(patient(t))
		done := make(chan error)
		go func() {
			_, err := l.Acquire(ctx, k)
			done <- err
		}()
		s.waiting(k.Name64(), 1)
		start := time.Now()
		cancel(errEnough)
		if err := <-done; !errors.Is(err, errEnough) {
			t.Errorf("cancelled: %v, want the context's cause", err)
		}
		s.waiting(k.Name64(), 0)
		t.Logf("no waiter is left after %v", time.Since(start))
		if n := db.Stats().InUse; n > 1 { // the KILL may be under way
			t.Errorf("%d connections in use", n)
		}
	}
	// On a loaded machine the server may have noticed by itself, after a second, but not each time.
	if s.number(killsSent) == kills {
		t.Error("nobody killed a waiter")
	}
	if err := mysqllock.Release(patient(t), holder, k.Name64()); err != nil {
		t.Fatal(err)
	}
	s.wantNothing(k.Name64()) // no waiter got it
}

func TestCloseEndsWaitsAndLeavesNothing(t *testing.T) {
	s := newServer(t)
	k := key(t)
	s.take(k.Name64())
	l := s.locker(s.pool(t, nil))
	done := make(chan error)
	go func() {
		_, err := l.Acquire(patient(t), k)
		done <- err
	}()
	s.waiting(k.Name64(), 1)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, lock.ErrClosed) {
		t.Errorf("waiting: %v, want ErrClosed", err)
	}
	s.waiting(k.Name64(), 0)
}
