package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/examples"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// drivers are the ones that every behaviour is tested with.
var drivers = []string{"pgx", "postgres"}

// databases has one for each driver, for all tests, which run one after the other: making one takes longer
// than most tests.
var databases = map[string]func() string{}

func init() {
	for _, name := range drivers {
		databases[name] = sync.OnceValue(func() string { return testserver.Postgres(examples.TB{}) })
	}
}

// each runs a test with each driver on a database without locks, and looks for goroutines when the test's own
// clean-up is over.
func each(t *testing.T, test func(t *testing.T, open func(max int) *sql.DB)) {
	for _, name := range drivers {
		t.Run(name, func(t *testing.T) {
			url := databases[name]()
			goroutines.Verify(t)
			watch := open(t, name, url, 0)
			wantNothing(t, watch)
			watch.Close()
			test(t, func(max int) *sql.DB { return open(t, name, url, max) })
		})
	}
}

func open(t *testing.T, driver, url string, max int) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(max)
	t.Cleanup(func() { db.Close() })
	return db
}

// proxied opens a pool whose network can break, and one beside it to watch the database with.
func proxied(t *testing.T, driver, direct string) (proxy *faultproxy.Proxy, watch, db *sql.DB) {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	proxy = faultproxy.New(t, u.Host)
	return proxy, open(t, driver, direct, 0), open(t, driver, proxy.Through(direct), 0)
}

// patience is for what must happen on a machine however loaded.
const patience = 20 * time.Second

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// endedByServer gives the error of a wait that the server ended, which is one with an SQLSTATE. On a loaded machine
// the client may give up before it has heard of that, half a second late: then it is tried again.
func endedByServer(t *testing.T, wait func() error) (err error) {
	t.Helper()
	var server interface{ SQLState() string }
	for range 20 {
		if err = wait(); errors.As(err, &server) || !errors.Is(err, lock.ErrTimeout) {
			return err
		}
		t.Logf("the client gave up first: %v", err)
	}
	return err
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// count asks with a connection of db for a number.
func count(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(patient(t), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	advisory = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	ofKey = ` AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = $1`
)

func granted(t *testing.T, db *sql.DB, key int64) int {
	t.Helper()
	return count(t, db, advisory+ofKey+` AND granted`, key)
}

func waiting(t *testing.T, db *sql.DB, key int64) int {
	t.Helper()
	return count(t, db, advisory+ofKey+` AND NOT granted`, key)
}

// wantNothing wants that the server soon has no advisory lock of the database, held or waited for, with the
// pools still open.
func wantNothing(t *testing.T, watch *sql.DB) {
	t.Helper()
	eventually(t, "no advisory lock is left", func() bool { return count(t, watch, advisory) == 0 })
}

func exec(t *testing.T, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := on.ExecContext(patient(t), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// session takes one connection for the test.
func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func pid(t *testing.T, c *sql.Conn) (n int) {
	t.Helper()
	if err := c.QueryRowContext(patient(t), `SELECT pg_backend_pid()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func keyOf(t *testing.T) lock.Key { return lock.NewKey("pglock", t.Name()) }

// lockOf is the key's SQL form.
func lockOf(function string, key int64) string { return fmt.Sprintf("SELECT %s(%d)", function, key) }
