package locktest

import (
	"context"
	"database/sql"
	"fmt"
	neturl "net/url"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// A trial is the testing.TB of a test that may fail.
type trial struct {
	testing.TB
	cleanups []func()
	failures []string
}

func (f *trial) Helper()                {}
func (f *trial) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }
func (f *trial) Errorf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// Fatalf does not end the trial: VerifyNoLeaks fails before the test only where the pool is of no use.
func (f *trial) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// verified runs a test under VerifyNoLeaks and gives its failures.
func verified(db *sql.DB, test func()) []string {
	f := &trial{}
	VerifyNoLeaks(f, db)
	test()
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
	return f.failures
}

// impatient is for tests in which nothing is let go, and forbearing for those in which everything is.
func impatient(t *testing.T)  { wait(t, 100*time.Millisecond) }
func forbearing(t *testing.T) { wait(t, 20*time.Second) }

func wait(t *testing.T, d time.Duration) {
	was := lettingGo
	lettingGo = d
	t.Cleanup(func() { lettingGo = was })
}

func database(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs a statement on a connection that goes back to the pool.
func run(t *testing.T, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string) {
	t.Helper()
	if _, err := on.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNoLeaksFailsForALockOnAPooledConnection(t *testing.T) {
	impatient(t)
	db := database(t, testserver.Postgres(t))
	var pid int
	failures := verified(db, func() {
		if err := db.QueryRow(`SELECT pg_backend_pid() FROM pg_advisory_lock(-42)`).Scan(&pid); err != nil {
			t.Fatal(err)
		}
	})
	if len(failures) != 1 {
		t.Fatalf("failures %q, want one", failures)
	}
	for _, want := range []string{"key (-42)", fmt.Sprintf("backend %d,", pid), "last query: SELECT pg_backend_pid() FROM pg_advisory_lock(-42)"} {
		if !strings.Contains(failures[0], want) {
			t.Errorf("failure %q does not name %q", failures[0], want)
		}
	}
}

func TestVerifyNoLeaksNamesTheQueryOfTheConnectionThatLeaked(t *testing.T) {
	impatient(t)
	db := database(t, testserver.Postgres(t))
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	failures := verified(db, func() { run(t, conn, "SELECT\n pg_advisory_lock(1, -2)") })
	if len(failures) != 1 || !strings.Contains(failures[0], "key (1, -2)") || !strings.Contains(failures[0], "last query: SELECT pg_advisory_lock(1, -2)") {
		t.Errorf("failures %q, want one with the key and the query", failures)
	}
}

func TestVerifyNoLeaksPasses(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, url string, db *sql.DB){
		"when locks were released": func(t *testing.T, _ string, db *sql.DB) {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			run(t, conn, `SELECT pg_advisory_lock(1)`)
			run(t, conn, `SELECT pg_advisory_unlock(1)`)
		},
		"when transactions ended": func(t *testing.T, _ string, db *sql.DB) {
			run(t, db, `SELECT pg_advisory_xact_lock(1)`)
		},
		"when a connection closes a moment later": func(t *testing.T, url string, _ *sql.DB) {
			late := database(t, url)
			run(t, late, `SELECT pg_advisory_lock(1)`)
			time.AfterFunc(200*time.Millisecond, func() { late.Close() })
		},
		"when a program of another name holds a lock": func(t *testing.T, url string, _ *sql.DB) {
			run(t, database(t, url+"&application_name=another"), `SELECT pg_advisory_lock(1)`)
		},
		"when another user holds a lock": func(t *testing.T, url string, db *sql.DB) {
			run(t, db, `CREATE ROLE another LOGIN`)
			t.Cleanup(func() {
				if _, err := db.Exec(`DROP ROLE another`); err != nil {
					t.Error(err)
				}
			})
			as, err := neturl.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			as.User = neturl.User("another")
			other := database(t, as.String())
			run(t, other, `SELECT pg_advisory_lock(1)`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forbearing(t)
			url := testserver.Postgres(t)
			db := database(t, url)
			if failures := verified(db, func() { test(t, url, db) }); len(failures) != 0 {
				t.Errorf("failures %q, want none", failures)
			}
		})
	}
}

func TestVerifyNoLeaksKnowsWhatWasHeldBefore(t *testing.T) {
	impatient(t)
	db := database(t, testserver.Postgres(t))
	db.SetMaxOpenConns(1)
	run(t, db, `SELECT pg_advisory_lock(1)`)
	if failures := verified(db, func() {}); len(failures) != 0 {
		t.Errorf("failures %q for a lock that was held before", failures)
	}
	failures := verified(db, func() { run(t, db, `SELECT pg_advisory_lock_shared(1)`) })
	if len(failures) != 1 || !strings.Contains(failures[0], "ShareLock") || strings.Contains(failures[0], "ExclusiveLock") {
		t.Errorf("failures %q, want one for the shared lock alone", failures)
	}
}

func TestVerifyNoLeaksLeavesSessionsThatAreOlderThanTheProgramAlone(t *testing.T) {
	impatient(t)
	db := database(t, testserver.Postgres(t))
	old, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	was := started
	defer func() { started = was }()
	time.Sleep(50 * time.Millisecond)
	started = time.Now().Add(beforeStarted) // as if the program had started just now
	if failures := verified(db, func() { run(t, old, `SELECT pg_advisory_lock(1)`) }); len(failures) != 0 {
		t.Errorf("failures %q for an older session", failures)
	}
	started = was
	if failures := verified(db, func() { run(t, old, `SELECT pg_advisory_lock(2)`) }); len(failures) != 1 {
		t.Errorf("failures %q for the same session as one of this program, want one", failures)
	}
}

func TestVerifyNoLeaksSeesTheLockAlsoWhenThePoolMayOpenNoMore(t *testing.T) {
	impatient(t)
	db := database(t, testserver.Postgres(t))
	db.SetMaxOpenConns(1)
	failures := verified(db, func() { run(t, db, `SELECT pg_advisory_lock(1)`) })
	if len(failures) != 1 || !strings.Contains(failures[0], "key (1)") {
		t.Errorf("failures %q, want one with the key", failures)
	}
}

func TestVerifyNoLeaksFailsWhenItCannotTell(t *testing.T) {
	db := database(t, testserver.Postgres(t))
	failures := verified(db, func() { db.Close() })
	if len(failures) != 1 || !strings.Contains(failures[0], "closed") {
		t.Errorf("failures %q, want one that says that the pool is closed", failures)
	}
}
