package pgxlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestDeadlockFreesEveryKey(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	a, b := lock.NewKey("deadlock", "a"), lock.NewKey("deadlock", "b")
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	// A program that takes them in the other order. It does not give up: its server looks for deadlocks later.
	other := s.connect()
	query(t, other, `SELECT set_config('deadlock_timeout', '1min', false)`)
	query(t, other, `SELECT pg_advisory_lock($1)::text`, b.Int64())
	failed := make(chan error)
	go func() {
		_, err := l.AcquireAll(context.Background(), []lock.Key{a, b})
		failed <- err
	}()
	eventually(t, "the Locker waits for the second key", func() bool { return s.waiters() == 1 })
	var done sync.WaitGroup
	done.Go(func() { query(t, other, `SELECT pg_advisory_lock($1)::text`, a.Int64()) })
	err := <-failed
	done.Wait() // because the Locker no longer holds its first key
	if !errors.Is(err, lock.ErrDeadlock) || code(err) != "40P01" {
		t.Errorf("AcquireAll gave %v, want ErrDeadlock with SQLSTATE 40P01", err)
	}
	if held, waiting := s.grants(), s.waiters(); held != 2 || waiting != 0 {
		t.Errorf("%d grants and %d waiters, want the other program's two", held, waiting)
	}
}

// The test fills the server's table of locks, which all sessions of this test binary share.
func TestFullLockTableFreesEveryKey(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	keys := make([]lock.Key, 300)
	for i := range keys {
		keys[i] = lock.NewKey("full", fmt.Sprint(i))
	}
	if err := take(t, l.Locker, keys[0]).Release(context.Background()); err != nil { // has probed, and a connection
		t.Fatal(err)
	}
	filler := s.connect()
	var n int64
	err := filler.QueryRow(context.Background(), `SELECT count(pg_advisory_lock(i)) FROM generate_series(1, 1000000) AS i`).Scan(&n)
	if code(err) != "53200" {
		t.Fatalf("filling the table gave %v, want SQLSTATE 53200", err)
	}
	query(t, filler, `SELECT count(pg_advisory_unlock(i))::text FROM generate_series(1, 100) AS i`)

	_, err = l.AcquireAll(context.Background(), keys)
	if !errors.Is(err, lock.ErrLockTableFull) || code(err) != "53200" {
		t.Errorf("AcquireAll gave %v, want ErrLockTableFull with SQLSTATE 53200", err)
	}
	if held := s.grants(keys...); held != 0 {
		t.Errorf("%d keys are held after the failure", held)
	}
	if err := take(t, l.Locker, keys[0], lock.Try()).Release(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestSeveralKeysShareOneSession(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	keys := make([]lock.Key, 50)
	for i := range keys {
		keys[i] = lock.NewKey("several", fmt.Sprint(i))
	}
	for _, opts := range [][]lock.Option{nil, {lock.Try()}, {lock.Shared()}, {lock.Shared(), lock.Wait(time.Minute)}} {
		h, err := l.AcquireAll(context.Background(), keys, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.grants(keys...); n != int64(len(keys)) {
			t.Errorf("%d keys are held", n)
		}
		if n := s.number(`SELECT count(DISTINCT pid)` + here); n != 1 {
			t.Errorf("%d sessions hold them", n)
		}
		if err := h.Check(context.Background()); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := h.Release(context.Background()); err != nil {
			t.Errorf("release: %v", err)
		}
		s.freeAtOnce()
	}
}

// The time to wait is that of the request, not of each key: a server that was told to wait as long again for the
// second would be given up before it ends that wait.
func TestWaitIsForAllKeysTogether(t *testing.T) {
	s := newServer(t)
	l := s.locker()
	a, b := lock.NewKey("wait", "a"), lock.NewKey("wait", "b")
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	if err := take(t, l.Locker, a).Release(context.Background()); err != nil { // has probed, and a connection
		t.Fatal(err)
	}
	holder := s.connect()
	const wait = time.Second
	err := endedByServer(t, func() error {
		query(t, holder, `SELECT pg_advisory_lock($1)::text || pg_advisory_lock($2)::text`, a.Int64(), b.Int64())
		defer query(t, holder, `SELECT pg_advisory_unlock($1)::text`, b.Int64())
		var done sync.WaitGroup
		done.Go(func() {
			time.Sleep(wait * 3 / 4)
			query(t, holder, `SELECT pg_advisory_unlock($1)::text`, a.Int64())
		})
		start := time.Now()
		_, err := l.AcquireAll(context.Background(), []lock.Key{a, b}, lock.Wait(wait))
		took := time.Since(start)
		t.Logf("took %v", took)
		if took < wait-10*time.Millisecond {
			t.Errorf("took %v, want %v", took, wait)
		}
		done.Wait()
		return err
	})
	if !errors.Is(err, lock.ErrTimeout) || code(err) != "55P03" {
		t.Errorf("AcquireAll gave %v, want ErrTimeout with SQLSTATE 55P03", err)
	}
	if n := s.grants(a); n != 0 {
		t.Error("the first key is held")
	}
}
