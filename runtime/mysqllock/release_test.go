package mysqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestDropInReleaseConfirmsAlsoForAContextThatHasEnded(t *testing.T) {
	s := newServer(t)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for what, ctx := range map[string]context.Context{"live": context.Background(), "cancelled": cancelled} {
		conn := s.take(t.Name())
		if err := mysqllock.Release(ctx, conn, t.Name()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if s.holder(t.Name()) != 0 {
			t.Errorf("%s: held after the release", what)
		}
		if err := conn.PingContext(patient(t)); err != nil {
			t.Errorf("%s: the connection is not usable: %v", what, err)
		}
	}
}

func TestDropInReleaseOfWhatIsNotHeldSaysWhichAndOfWhat(t *testing.T) {
	s := newServer(t)
	conn, err := s.admin.Conn(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	wantNotHeld := func(why string) {
		t.Helper()
		err := mysqllock.Release(patient(t), conn, t.Name())
		if !errors.Is(err, lock.ErrNotHeld) || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), t.Name()) {
			t.Errorf("release: %v, want ErrNotHeld, the name and %q", err, why)
		}
	}
	wantNotHeld("NULL: no connection holds it")
	other := s.take(t.Name())
	wantNotHeld("0: another connection holds it")
	if err := conn.PingContext(patient(t)); err != nil {
		t.Errorf("the connection is not usable: %v", err)
	}
	if err := mysqllock.Release(patient(t), other, t.Name()); err != nil {
		t.Errorf("the holder's release: %v", err)
	}
}

func TestDropInReleaseIsAsManyAsTheLocks(t *testing.T) {
	s := newServer(t)
	conn := s.take(t.Name())
	if _, err := conn.ExecContext(patient(t), "DO GET_LOCK(?, 0)", t.Name()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if s.holder(t.Name()) == 0 {
			t.Errorf("not held before release %d", i+1)
		}
		if err := mysqllock.Release(patient(t), conn, t.Name()); err != nil {
			t.Errorf("release %d: %v", i+1, err)
		}
	}
	if err := mysqllock.Release(patient(t), conn, t.Name()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release 3: %v, want ErrNotHeld", err)
	}
}

func TestDropInReleaseWithoutAnAnswerClosesTheConnection(t *testing.T) {
	for what, spoil := range map[string]func(*server, *wire, *sql.Conn){
		"killed":     func(s *server, _ *wire, _ *sql.Conn) { s.kill(s.holder(s.Name())) },
		"cut":        func(_ *server, w *wire, _ *sql.Conn) { w.each(func(c *tapped) { c.Conn.Close() }) },
		"given back": func(s *server, _ *wire, conn *sql.Conn) { conn.Close(); s.kill(s.holder(s.Name())) },
	} {
		t.Run(what, func(t *testing.T) { unconfirmed(t, spoil) })
	}
}

// unconfirmed wants of a drop-in release, after something has been done to its connection, what it says
// and what is left.
func unconfirmed(t *testing.T, spoil func(*server, *wire, *sql.Conn)) {
	s, w := newServer(t), &wire{}
	db := s.pool(t, w)
	conn, err := db.Conn(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(patient(t), "DO GET_LOCK(?, 0)", t.Name()); err != nil {
		t.Fatal(err)
	}
	spoil(s, w, conn)
	start := time.Now()
	if err := mysqllock.Release(patient(t), conn, t.Name()); !errors.Is(err, lock.ErrUnconfirmed) {
		t.Errorf("%v, want ErrUnconfirmed", err)
	}
	t.Logf("after %v", time.Since(start))
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use", n)
	}
	s.wantNothing(t.Name())
}
