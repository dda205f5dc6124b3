package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

const unlockKey = -987654321987

// unlocks are both functions with the function that takes what they release.
var unlocks = map[string]struct {
	take    string
	release func(context.Context, *sql.Conn, int64) error
}{
	"exclusive": {"pg_advisory_lock", pglock.Unlock},
	"shared":    {"pg_advisory_lock_shared", pglock.UnlockShared},
}

// eachUnlock gives a connection that holds the lock.
func eachUnlock(t *testing.T, test func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error)) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		for name, u := range unlocks {
			t.Run(name, func(t *testing.T) {
				db := open(0)
				c := session(t, db)
				exec(t, c, lockOf(u.take, unlockKey))
				test(t, db, c, u.release)
				wantNothing(t, open(0))
			})
		}
	})
}

func TestUnlockReleases(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		before := pid(t, c)
		if err := release(patient(t), c, unlockKey); err != nil {
			t.Error(err)
		}
		if n := granted(t, db, unlockKey); n != 0 {
			t.Errorf("%d grants are left", n)
		}
		if pid(t, c) != before {
			t.Error("the connection is another")
		}
	})
}

func TestUnlockReleasesAlthoughTheContextHasEnded(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := release(ended, c, unlockKey); err != nil {
			t.Error(err)
		}
		if n := granted(t, db, unlockKey); n != 0 {
			t.Errorf("%d grants are left", n)
		}
	})
}

func TestUnlockOfWhatIsNotHeldSaysSoAndLeavesTheConnection(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		other := session(t, db)
		before := pid(t, other)
		err := release(patient(t), other, unlockKey)
		if !errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrUnconfirmed) || !strings.Contains(err.Error(), "-987654321987") {
			t.Errorf("on another connection: %v, want ErrNotHeld with the key", err)
		}
		if pid(t, other) != before {
			t.Error("the connection is another")
		}
		if n := granted(t, db, unlockKey); n != 1 {
			t.Errorf("%d grants, want the one of the holder", n)
		}
		if err := release(patient(t), c, unlockKey); err != nil {
			t.Error(err)
		}
	})
}

func TestUnlockReleasesOneOfSeveralGrants(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(0)
		c := session(t, db)
		for range 2 {
			exec(t, c, lockOf("pg_advisory_lock", unlockKey))
		}
		for want := 1; want >= 0; want-- {
			if err := pglock.Unlock(patient(t), c, unlockKey); err != nil {
				t.Error(err)
			}
			if n := granted(t, db, unlockKey); n != want {
				t.Errorf("%d grants, want %d", n, want)
			}
		}
	})
}

func TestUnlockClosesTheConnectionWhenTheServerRefuses(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		exec(t, c, `BEGIN`)
		if _, err := c.ExecContext(patient(t), `SELECT 1/0`); err == nil {
			t.Fatal("no error of the division")
		}
		err := release(patient(t), c, unlockKey)
		if !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("in a failed transaction: %v, want ErrUnconfirmed", err)
		}
		var server interface{ SQLState() string }
		if !errors.As(err, &server) || server.SQLState() != "25P02" {
			t.Errorf("%v does not have the server's code 25P02", err)
		}
		wantNothing(t, db)
		if err := c.PingContext(patient(t)); !errors.Is(err, sql.ErrConnDone) {
			t.Errorf("ping: %v, want that the connection is closed", err)
		}
	})
}

func TestUnlockOnATerminatedSessionIsUnconfirmed(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		exec(t, db, `SELECT pg_terminate_backend($1, 10000)`, pid(t, c))
		if err := release(patient(t), c, unlockKey); !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("%v, want ErrUnconfirmed", err)
		}
	})
}

func TestUnlockWithOpenRowsEndsInTimeAndLeavesNoLock(t *testing.T) {
	eachUnlock(t, func(t *testing.T, db *sql.DB, c *sql.Conn, release func(context.Context, *sql.Conn, int64) error) {
		rows, err := c.QueryContext(patient(t), `SELECT generate_series(1, 1000000)`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		if err := release(patient(t), c, unlockKey); !errors.Is(err, lock.ErrUnconfirmed) {
			t.Errorf("%v, want ErrUnconfirmed", err)
		}
		wantNothing(t, db) // although rows are open
	})
}

func TestUnlockOnAConnectionThatWasGivenBackIsUnconfirmed(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		c := session(t, open(0))
		c.Close()
		err := pglock.Unlock(patient(t), c, unlockKey)
		if !errors.Is(err, lock.ErrUnconfirmed) || !errors.Is(err, sql.ErrConnDone) {
			t.Errorf("%v, want ErrUnconfirmed and sql.ErrConnDone", err)
		}
	})
}
