package pglock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// watched is a driver over pgx's in the way of those that make spans of what goes through them: its
// connections are not pgx's, and give it by Raw.
type watched struct{ driver.Connector }

func (w watched) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{c.(*stdlib.Conn)}, nil
}

type watchedConn struct{ below }

// below hides that the connection has a method Conn.
type below interface {
	driver.Conn
	driver.ConnBeginTx
	driver.QueryerContext
	driver.ExecerContext
	driver.SessionResetter
}

func (c *watchedConn) Raw() driver.Conn { return c.below }

func TestPgxIsFoundBelowADriverThatWatches(t *testing.T) {
	url := testserver.Postgres(t)
	goroutines.Verify(t)
	config, err := stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(url)
	if err != nil {
		t.Fatal(err)
	}
	db, watch := sql.OpenDB(watched{config}), open(t, "pgx", url, 0)
	t.Cleanup(func() { db.Close() })
	// A poll would come after an hour only.
	l := newLocker(t, db, pglock.PollInterval(time.Hour), pglock.Heartbeat(time.Hour))
	h := take(t, l, keyOf(t))
	time.Sleep(60 * time.Millisecond)
	terminate(t, watch, keyOf(t))
	select {
	case <-h.Context().Done():
	case <-time.After(patience):
		t.Error("the end of the session is not noticed at once")
	}
	if err := h.Release(patient(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("release: %v, want ErrLost", err)
	}
	err = pglock.DoTx(patient(t), db, keyOf(t), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `SELECT 1`)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	wantNothing(t, watch)
}
