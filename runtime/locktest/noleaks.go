package locktest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// started is when this program started, nearly: package initialisation.
var started = time.Now()

const (
	// beforeStarted is for connections that other packages opened before this one was initialised.
	beforeStarted = time.Second

	// asking bounds how long the database may take to answer.
	asking = 10 * time.Second
)

// lettingGo is how long a lock may still be seen after the test: of a connection that was just closed.
var lettingGo = 3 * time.Second

// VerifyNoLeaks fails the test when, at its end, PostgreSQL sessions of this program hold advisory locks that
// they did not hold when VerifyNoLeaks was called: locks on connections that went back to a pool, or that
// nobody closed. The failure names each lock's key, backend and last query.
//
//	func TestSettle(t *testing.T) {
//		db := open(t) // closes db in a t.Cleanup
//		locktest.VerifyNoLeaks(t, db)
//		...
//	}
//
// Call it after what closes db and pools was registered with t.Cleanup, and before what releases locks is:
// clean-ups run in reverse order, and a pool that is closed hides what leaked on it. A db that is closed when
// the test ends fails it. The test waits up to 3 s for locks of connections that are being closed.
//
// The server does not know programs. A session counts as this program's when it is one of db's database and
// user, with the application_name and client address of db's own sessions, and not older than this process.
// So sessions with another application_name or user, such as another pool's, are not seen; and those of
// another program that looks alike are, when they take locks meanwhile: give the tests of each package a
// database of their own, or an application_name in the connection string. Behind a pooler in transaction mode
// sessions belong to everybody. Tests that run in parallel on one db see each other's locks.
func VerifyNoLeaks(t testing.TB, db *sql.DB) {
	t.Helper()
	before, err := atStart(db)
	if err != nil {
		t.Fatalf("VerifyNoLeaks: %v", err)
	}
	known := map[grant]bool{}
	for _, info := range before {
		known[grantOf(info)] = true
	}
	t.Cleanup(func() {
		t.Helper()
		leaked, err := leaks(db, known)
		switch {
		case err != nil:
			t.Errorf("VerifyNoLeaks: can't tell at the test's end: %v", err)
		case len(leaked) > 0:
			t.Errorf("VerifyNoLeaks: sessions of this program hold advisory locks (%d) at the test's end that they did not hold at its start:%s",
				len(leaked), describe(leaked))
		}
	})
}

// A grant is a lock of one session. Pids are used again, with another start.
type grant struct {
	key   pgadvisory.LockKey
	mode  string
	pid   int
	start int64
}

func grantOf(info pgadvisory.LockInfo) grant {
	return grant{info.Key, info.Mode, info.PID, info.BackendStart.UnixMicro()}
}

// atStart gives the locks that the program holds.
func atStart(db *sql.DB) ([]pgadvisory.LockInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	infos, err := programLocks(ctx, db)
	return infos, explained(db, err)
}

// leaks gives the grants that are not known and do not go away.
func leaks(db *sql.DB, known map[grant]bool) ([]pgadvisory.LockInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lettingGo+asking)
	defer cancel()
	conn, giveBack, err := unused(ctx, db)
	if err != nil {
		return nil, explained(db, err)
	}
	defer giveBack()
	for end := time.Now().Add(lettingGo); ; time.Sleep(20 * time.Millisecond) {
		leaked, err := programLocks(ctx, conn)
		if err != nil {
			return nil, err
		}
		leaked = slices.DeleteFunc(leaked, func(l pgadvisory.LockInfo) bool { return known[grantOf(l)] })
		if len(leaked) == 0 || time.Now().After(end) {
			return leaked, nil
		}
	}
}

// unused gives a connection on which nothing ran yet, where the pool may open one more: on one that leaked
// the question itself would become the last query.
func unused(ctx context.Context, db *sql.DB) (conn *sql.Conn, giveBack func(), err error) {
	var taken []*sql.Conn
	giveBack = func() {
		for _, c := range taken {
			c.Close()
		}
	}
	take := 1
	if s := db.Stats(); s.MaxOpenConnections == 0 || s.OpenConnections < s.MaxOpenConnections {
		take += s.Idle
	}
	for range take {
		if conn, err = db.Conn(ctx); err != nil {
			giveBack()
			return nil, nil, err
		}
		taken = append(taken, conn)
	}
	return conn, giveBack, nil
}

func programLocks(ctx context.Context, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) ([]pgadvisory.LockInfo, error) {
	query := func(ctx context.Context, query string, args []any, dest ...any) error {
		return on.QueryRowContext(ctx, query, args...).Scan(dest...)
	}
	return pgadvisory.OfProgram(ctx, query, time.Since(started)+beforeStarted)
}

// explained says more of a pool that gave no connection.
func explained(db *sql.DB, err error) error {
	if s := db.Stats(); errors.Is(err, context.DeadlineExceeded) && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
		return fmt.Errorf("all %d connections of the pool are in use: %w", s.InUse, err)
	}
	return err
}

func describe(leaked []pgadvisory.LockInfo) string {
	var b strings.Builder
	for _, l := range leaked {
		fmt.Fprintf(&b, "\n\tkey (%s), %s, backend %d, %s since %s, last query: %s",
			l.Key, l.Mode, l.PID, l.State, l.Since().Format(time.TimeOnly), strings.Join(strings.Fields(l.Query), " "))
	}
	return b.String()
}
