package pgxlock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// The heartbeat comes after an hour: what is noticed is what the server says as it ends the session.
func TestTerminatedBackendIsNoticedAtOnce(t *testing.T) {
	s := newServer(t)
	l := s.locker(Heartbeat(time.Hour))
	key := lock.NewKey("loss", "terminated")
	for range 5 {
		h := take(t, l.Locker, key)
		pid := s.holder(key)
		time.Sleep(50 * time.Millisecond) // idle
		start := time.Now()
		s.exec(`SELECT pg_terminate_backend($1)`, pid)
		lost(t, h)
		t.Logf("noticed after %v", time.Since(start))
		if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
			t.Fatalf("Release gave %v, want ErrLost", err)
		}
	}
	s.free()
}

func TestBackendTerminatedJustAfterTheGrantIsNoticed(t *testing.T) {
	s := newServer(t)
	l := s.locker(Heartbeat(time.Hour))
	key := lock.NewKey("loss", "young")
	h := take(t, l.Locker, key)
	s.terminate(key)
	lost(t, h)
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release gave %v, want ErrLost", err)
	}
}

// Whatever the moment at which the session ends, Release says that the lock was lost, or could not be
// confirmed, or the release came first; it returns, and what others get of the Locker is good.
func TestReleaseWhileTheBackendIsTerminated(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	key := lock.NewKey("loss", "while releasing")
	outcomes := map[string]int{}
	for i := range 45 {
		h := take(t, l.Locker, key)
		pid := s.holder(key)
		time.Sleep(time.Duration(i%30) * time.Millisecond) // before, at and after the start of the watch
		var done sync.WaitGroup
		done.Go(func() { s.exec(`SELECT pg_terminate_backend($1)`, pid) })
		if i%2 == 0 {
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
		}
		err := h.Release(context.Background())
		done.Wait()
		switch {
		case err == nil:
			outcomes["released"]++
		case errors.Is(err, lock.ErrLost):
			outcomes["lost"]++
		case errors.Is(err, lock.ErrUnconfirmed):
			outcomes["unconfirmed"]++
		default:
			t.Errorf("Release gave %v", err)
		}
		// A released session that is terminated in the pool fails one acquire, with the server's error, and is not
		// given again.
		eventually(t, "the lock is taken again", func() bool {
			h, err := l.Acquire(context.Background(), key)
			if err != nil {
				return false
			}
			if err := h.Release(context.Background()); err != nil {
				t.Logf("release: %v", err)
			}
			return true
		})
	}
	t.Logf("outcomes: %v", outcomes)
	s.free()
}

func TestSilentServerIsNoticedWithinTheHeartbeat(t *testing.T) {
	s := newServer(t)
	const heartbeat, timeout = 200 * time.Millisecond, 2 * time.Second // so long that a loaded machine does not lose it before
	l := s.locker(Heartbeat(heartbeat), HeartbeatTimeout(timeout))
	key := lock.NewKey("loss", "silent")
	h := take(t, l.Locker, key)
	pid := s.holder(key)
	time.Sleep(2*heartbeat + heartbeat/2)
	if err := h.Guard(); err != nil {
		t.Fatalf("lost while the server answered: %v", err)
	}
	start := time.Now()
	s.stop(pid)
	lost(t, h)
	t.Logf("noticed after %v, bound %v", time.Since(start), heartbeat+timeout)
	start = time.Now()
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release gave %v, want ErrLost", err)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("Release of a lost lock took %v", took)
	}
	s.resume(pid)
	eventually(t, "the server frees the lock", func() bool { return s.grants(key) == 0 })
}

func TestReleaseOfSilentServerEndsWithItsTimeout(t *testing.T) {
	s := newServer(t)
	const timeout = 300 * time.Millisecond
	for name, heartbeat := range map[string]time.Duration{"between heartbeats": time.Hour, "in a heartbeat": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			l := s.locker(Heartbeat(heartbeat), HeartbeatTimeout(time.Minute), Defaults(lock.ReleaseTimeout(timeout)))
			key := lock.NewKey("loss", "silent release", name)
			h := take(t, l.Locker, key)
			pid := s.holder(key)
			time.Sleep(3 * watchDelay)
			s.stop(pid)
			time.Sleep(3 * watchDelay)
			start := time.Now()
			if err := h.Release(context.Background()); !errors.Is(err, lock.ErrUnconfirmed) {
				t.Errorf("Release gave %v, want ErrUnconfirmed", err)
			}
			if took := time.Since(start); took < timeout || took > timeout+patience {
				t.Errorf("Release took %v, want %v", took, timeout)
			}
			start = time.Now()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > patience {
				t.Errorf("Close took %v: it waited for the heartbeat", took)
			}
			s.resume(pid)
			eventually(t, "the server frees the lock", func() bool { return s.grants(key) == 0 })
		})
	}
}

// watchDelay is what a lock lasts before it is watched.
const watchDelay = 20 * time.Millisecond

func TestReleaseAroundTheStartOfTheWatch(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			key := lock.NewKey("loss", "watch", string(rune('a'+worker)))
			for i := range 25 {
				h, err := l.Acquire(context.Background(), key)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(watchDelay - 2*time.Millisecond + time.Duration(i)*150*time.Microsecond)
				if err := h.Release(context.Background()); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	all.Wait()
	s.freeAtOnce()
}

func TestChecksDoNotDisturbTheWatch(t *testing.T) {
	s := newServer(t)
	l := s.locker(Heartbeat(10 * time.Millisecond))
	keys := []lock.Key{lock.NewKey("loss", "check", "a"), lock.NewKey("loss", "check", "b")}
	h, err := l.AcquireAll(context.Background(), keys)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if err := h.Check(context.Background()); err != nil {
					t.Errorf("check: %v", err)
				}
			}
		})
	}
	all.Wait()
	s.terminate(keys[0])
	lost(t, h)
	if err := h.Check(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Check gave %v, want ErrLost", err)
	}
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release gave %v, want ErrLost", err)
	}
}

func TestCheckWhoseContextEndsDoesNotLoseTheLock(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	key := lock.NewKey("loss", "check", "canceled")
	h := take(t, l.Locker, key)
	pid := s.holder(key)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*20*time.Microsecond)
		_ = h.Check(ctx) // nil, or that ctx ended
		cancel()
	}
	if err := h.Check(context.Background()); err != nil {
		t.Errorf("check: %v", err)
	}
	if now := s.holder(key); now != pid {
		t.Errorf("process %d holds the lock, want %d still", now, pid)
	}
	if err := h.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
}

func TestHeartbeatSurvivesCancelOfTheBackend(t *testing.T) {
	s := newServer(t)
	l := s.locker(Heartbeat(time.Millisecond))
	key := lock.NewKey("loss", "pg_cancel_backend")
	h := take(t, l.Locker, key)
	pid := s.holder(key)
	time.Sleep(2 * watchDelay)
	for range 200 {
		s.exec(`SELECT pg_cancel_backend($1)`, pid)
	}
	if err := h.Check(context.Background()); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := h.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
}
