package mysqllock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

// lostByHeartbeat wants that a lock is known to be lost after what happens to it: by a heartbeat, since nobody
// else asks.
func lostByHeartbeat(t *testing.T, happens func(s *server, w *wire, name string)) {
	t.Helper()
	s := newServer(t)
	w := &wire{}
	db := s.pool(t, w)
	l := s.locker(db, mysqllock.Heartbeat(50*time.Millisecond))
	h, err := l.Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	happens(s, w, key(t).Name64())
	select {
	case <-h.Context().Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the loss was not noticed")
	}
	t.Logf("noticed after %v", time.Since(start))
	if err := context.Cause(h.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("cause %v, want ErrLost", err)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use after the loss", n)
	}
	if err := h.Check(patient(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v, want ErrLost", err)
	}
	if err := h.Release(patient(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("release: %v, want ErrLost", err)
	}
	s.wantNothing(key(t).Name64())
}

func TestKillIsNoticedByAHeartbeat(t *testing.T) {
	lostByHeartbeat(t, func(s *server, _ *wire, name string) { s.kill(s.holder(name)) })
}

func TestClosedConnectionIsNoticedByAHeartbeat(t *testing.T) {
	lostByHeartbeat(t, func(_ *server, w *wire, _ string) { w.each(func(c *tapped) { c.Conn.Close() }) })
}

// A heartbeat, and a second for its answer.
func TestSilentNetworkIsNoticedByAHeartbeat(t *testing.T) {
	lostByHeartbeat(t, func(_ *server, w *wire, _ string) { w.each((*tapped).silence) })
}

func TestKillQueryOfAHeartbeatIsNotALoss(t *testing.T) {
	s := newServer(t)
	var slow atomic.Bool
	db := s.rewritingPool(func(query string) string {
		if slow.CompareAndSwap(true, false) {
			return "SELECT COUNT(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b, " +
				"information_schema.COLLATIONS c, information_schema.COLLATIONS d" // takes minutes
		}
		return query
	})
	// An answer may take three times as long as from one heartbeat to the next, in which the test must find it.
	h, err := s.locker(db, mysqllock.Heartbeat(3*time.Second)).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	id := s.holder(key(t).Name64())
	s.eventually(20*time.Second, func() error {
		if s.number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? AND INFO LIKE '%COLLATIONS%'", id) == 0 {
			return errors.New("no heartbeat")
		}
		return nil
	})
	s.exec("KILL QUERY " + number(id))
	if err := h.Check(patient(t)); err != nil { // after the heartbeat
		t.Error(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
}

func TestHeartbeatsKeepALockThatIsHeld(t *testing.T) {
	s := newServer(t)
	w := &wire{}
	l := s.locker(s.pool(t, w), mysqllock.Heartbeat(10*time.Millisecond))
	h, err := l.Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	w.arm(20, func(*tapped) {}) // ten questions and answers
	s.eventually(20*time.Second, func() error {
		if !w.disarm() {
			return errors.New("too few heartbeats")
		}
		return nil
	})
	if err := h.Guard(); err != nil {
		t.Error(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
}

func TestCheckOfACallerInAHurryDoesNotCostTheLock(t *testing.T) {
	s := newServer(t)
	w := &wire{}
	h, err := s.locker(s.pool(t, w)).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan struct{})
	w.arm(2, func(*tapped) { <-answer }) // hold the answer back
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := h.Check(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v, want DeadlineExceeded", err)
	}
	close(answer)
	if err := h.Check(patient(t)); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Errorf("release: %v", err)
	}
}

func TestCheckNoticesALossBeforeTheHeartbeat(t *testing.T) {
	s := newServer(t)
	h, err := s.locker(s.pool(t, nil), mysqllock.Heartbeat(time.Hour)).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	s.kill(s.holder(key(t).Name64()))
	s.wantNothing(key(t).Name64())
	if err := h.Check(patient(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v, want ErrLost", err)
	}
	if err := h.Release(patient(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("release: %v, want ErrLost", err)
	}
}

func TestReleaseIsSentAlthoughItsContextHasEnded(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	h, err := s.locker(db).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Release(ctx); err != nil {
		t.Error(err)
	}
	if id := s.holder(key(t).Name64()); id != 0 {
		t.Errorf("connection %d still holds it", id)
	}
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("%d connections open; the one of the lock is good for others", n)
	}
}

func TestReleaseThatIsNotConfirmedLeavesNothing(t *testing.T) {
	s := newServer(t)
	for what, act := range map[string]func(*tapped){
		"cut": func(c *tapped) { c.Conn.Close() }, "silence": (*tapped).silence,
	} {
		t.Run(what, func(t *testing.T) {
			w := &wire{}
			steps(t, w, act, func(n int) {
				db := s.pool(t, w)
				l := s.locker(db, mysqllock.Defaults(lock.ReleaseTimeout(150*time.Millisecond)))
				w.arm(1<<30, nil)
				h, err := l.Acquire(patient(t), key(t))
				if err != nil {
					t.Fatal(err)
				}
				w.arm(n, act)
				err = h.Release(patient(t))
				if err != nil && !errors.Is(err, lock.ErrUnconfirmed) {
					t.Errorf("step %d: %v, want ErrUnconfirmed", n, err)
				}
				if st := db.Stats(); err != nil && st.OpenConnections != 0 {
					t.Errorf("step %d: %d connections are kept", n, st.OpenConnections)
				}
				s.wantNothing(key(t).Name64())
				l.Close()
				db.Close()
			})
		})
	}
}

func TestReleaseDoesNotWaitForAHeartbeatThatIsNotAnswered(t *testing.T) {
	s := newServer(t)
	w := &wire{}
	l := s.locker(s.pool(t, w), mysqllock.Heartbeat(20*time.Second), mysqllock.Defaults(lock.ReleaseTimeout(100*time.Millisecond)))
	h, err := l.Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	w.each((*tapped).silence)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := h.Check(ctx); !errors.Is(err, context.DeadlineExceeded) { // goes on for a minute
		t.Fatalf("check: %v, want DeadlineExceeded", err)
	}
	start, released := time.Now(), make(chan error, 1)
	go func() { released <- h.Release(patient(t)) }()
	select {
	case err := <-released:
		if !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("release: %v, want ErrUnconfirmed", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the release waits for the check")
	}
	t.Logf("the release took %v", time.Since(start))
	s.wantNothing(key(t).Name64())
}

// Heartbeats, checks, a kill and the release at once: -race and goleak see what is wrong.
func TestHeartbeatChecksAndReleaseAtOnce(t *testing.T) {
	s := newServer(t)
	l := s.locker(s.pool(t, nil), mysqllock.Heartbeat(time.Millisecond))
	for i := range 60 {
		h, err := l.Acquire(patient(t), key(t))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for h.Check(context.Background()) == nil {
				}
			})
		}
		killed := i%3 == 0
		if killed {
			s.kill(s.holder(key(t).Name64()))
		}
		time.Sleep(time.Duration(i%6) * time.Millisecond)
		err = h.Release(context.Background())
		wg.Wait()
		if err != nil && !killed {
			t.Errorf("release: %v", err)
		}
		if killed && !errors.Is(err, lock.ErrLost) && !errors.Is(err, lock.ErrUnconfirmed) { // whichever came first
			t.Errorf("release after a kill: %v, want ErrLost or ErrUnconfirmed", err)
		}
	}
	s.wantNothing(key(t).Name64())
}

func TestObserverMayReleaseWhatItHearsIsLost(t *testing.T) {
	s := newServer(t)
	lost := make(chan error, 1)
	var h *lock.Handle
	ready := make(chan struct{})
	l := s.locker(s.pool(t, nil), mysqllock.Heartbeat(10*time.Millisecond),
		mysqllock.Defaults(lock.WithObserver(observe(func(e lock.Event) {
			if e.Kind == lock.Lost {
				<-ready
				lost <- h.Release(context.Background())
			}
		}))))
	var err error
	if h, err = l.Acquire(patient(t), key(t)); err != nil {
		t.Fatal(err)
	}
	close(ready)
	s.kill(s.holder(key(t).Name64()))
	select {
	case err := <-lost:
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the release waits for the one who called it")
	}
}

type observe func(lock.Event)

func (o observe) Observe(_ context.Context, e lock.Event) { o(e) }
