package mysqllock_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A multiplexer does what a proxy between program and server does: it has every client use two server
// connections in turn.
type multiplexer struct{ driver.Connector }

func (m multiplexer) Connect(ctx context.Context) (driver.Conn, error) {
	a, err := m.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	b, err := m.Connector.Connect(ctx)
	if err != nil {
		a.Close()
		return nil, err
	}
	return &multiplexed{Conn: a, other: b}, nil
}

type multiplexed struct {
	driver.Conn
	other driver.Conn
}

func (m *multiplexed) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	m.Conn, m.other = m.other, m.Conn
	return m.other.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (m *multiplexed) Close() error { return errors.Join(m.Conn.Close(), m.other.Close()) }

func TestStatementsOnTwoServerConnectionsAreErrPooler(t *testing.T) {
	s := newServer(t)
	l := s.locker(s.poolOf(func(c driver.Connector) driver.Connector { return multiplexer{c} }))
	keys := []lock.Key{key(t, "a"), key(t, "b")}
	if _, err := l.AcquireAll(patient(t), keys); !errors.Is(err, lock.ErrPooler) {
		t.Errorf("two keys: %v, want ErrPooler", err)
	}
	h, err := l.Acquire(patient(t), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check(patient(t)); !errors.Is(err, lock.ErrPooler) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v, want ErrPooler and ErrLost", err)
	}
	h.Release(patient(t))
	if h, err = l.Acquire(patient(t), keys[0]); err != nil {
		t.Fatal(err)
	}
	if err := h.Release(patient(t)); !errors.Is(err, lock.ErrPooler) || !errors.Is(err, lock.ErrUnconfirmed) {
		t.Errorf("release: %v, want ErrPooler and ErrUnconfirmed", err)
	}
	s.wantNothing(keys[0].Name64(), keys[1].Name64())
}
