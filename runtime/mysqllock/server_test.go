package mysqllock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// A server is the MariaDB as one test sees it, by connections that no lock is on.
type server struct {
	testing.TB
	dsn   string
	admin *sql.DB
}

// newServer also has the test fail for a goroutine that it leaves.
func newServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{TB: tb, dsn: testserver.MariaDB(tb)}
	goroutines.Verify(tb)
	s.admin = s.pool(tb, nil)
	return s
}

// pool opens a pool whose connections go through w, unless that is nil.
func (s *server) pool(tb testing.TB, w *wire) *sql.DB {
	tb.Helper()
	config := s.config()
	if w != nil {
		config.DialFunc = w.dial
	}
	return s.open(tb, config, func(c driver.Connector) driver.Connector { return c })
}

// poolOf opens a pool with something between database/sql and the driver.
func (s *server) poolOf(between func(driver.Connector) driver.Connector) *sql.DB {
	s.Helper()
	return s.open(s, s.config(), between)
}

func (s *server) config() *mysql.Config {
	s.Helper()
	config, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		s.Fatal(err)
	}
	config.Logger = &mysql.NopLogger{} // what is cut in tests is no news
	return config
}

func (s *server) open(tb testing.TB, config *mysql.Config, between func(driver.Connector) driver.Connector) *sql.DB {
	tb.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(between(connector))
	tb.Cleanup(func() { db.Close() })
	return db
}

// rewritingPool opens a pool that sends something else than it was told to.
func (s *server) rewritingPool(rewrite func(query string) string) *sql.DB {
	s.Helper()
	return s.poolOf(func(c driver.Connector) driver.Connector { return rewriter{c, rewrite} })
}

type rewriter struct {
	driver.Connector
	rewrite func(string) string
}

func (r rewriter) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	return rewritten{conn, r.rewrite}, err
}

type rewritten struct {
	driver.Conn
	rewrite func(string) string
}

func (r rewritten) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return r.Conn.(driver.QueryerContext).QueryContext(ctx, r.rewrite(query), args)
}

// locker makes a Locker on db that is closed at the end.
func (s *server) locker(db *sql.DB, opts ...mysqllock.Option) *mysqllock.Locker {
	s.Helper()
	l, err := mysqllock.New(db, opts...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	return l
}

// holder is the connection that has the lock of a name, 0 for none.
func (s *server) holder(name string) int64 {
	s.Helper()
	return s.number("SELECT COALESCE(IS_USED_LOCK(?), 0)", name)
}

// waiters is how many connections wait in a GET_LOCK that has the name.
func (s *server) waiters(name string) int {
	s.Helper()
	return int(s.number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock' AND INFO LIKE ?",
		fmt.Sprintf("%%%x%%", name)))
}

func (s *server) number(query string, args ...any) (n int64) {
	s.Helper()
	if err := s.admin.QueryRow(query, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *server) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.admin.Exec(query, args...); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
}

func (s *server) kill(id int64) { s.Helper(); s.exec(fmt.Sprintf("KILL %d", id)) }

// wantNothing wants that soon no connection has or waits for the names: a waiter that only its own timeout ends
// is there for 20 s.
func (s *server) wantNothing(names ...string) {
	s.Helper()
	for _, n := range names {
		s.eventually(10*time.Second, func() error {
			if id, w := s.holder(n), s.waiters(n); id != 0 || w != 0 {
				return fmt.Errorf("lock %q: held by connection %d, %d waiters", n, id, w)
			}
			return nil
		})
	}
}

// eventually waits until ready is nil.
func (s *server) eventually(within time.Duration, ready func() error) {
	s.Helper()
	for end := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("after %v: %v", within, err)
		}
	}
}

// waiting waits until n connections wait for the name.
func (s *server) waiting(name string, n int) {
	s.Helper()
	s.eventually(10*time.Second, func() error {
		if w := s.waiters(name); w != n {
			return fmt.Errorf("%d waiters for %q, want %d", w, name, n)
		}
		return nil
	})
}

// take has a connection of the admin's take a lock until the test ends or the connection is closed.
func (s *server) take(name string) *sql.Conn {
	s.Helper()
	conn, err := s.admin.Conn(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	var got int
	if err := conn.QueryRowContext(context.Background(), "SELECT GET_LOCK(?, 0)", name).Scan(&got); err != nil || got != 1 {
		s.Fatalf("GET_LOCK(%q, 0): %d, %v", name, got, err)
	}
	return conn
}

// key is one that no other test has: names are the server's, whatever the schema.
func key(tb testing.TB, parts ...string) lock.Key {
	return lock.NewKey("mysqllock", append([]string{tb.Name()}, parts...)...)
}

// patient is a context for what should take no time.
func patient(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

// A wire is what connections go through. It counts their reads and writes, so that a test can do
// something at each of them in turn.
type wire struct {
	mu    sync.Mutex
	count int
	at    int              // the read or write at which act is called, from 1
	act   func(*tapped)    // nil for none
	conns map[*tapped]bool // open ones
}

type tapped struct {
	net.Conn
	wire *wire
	deaf chan struct{} // closed when the network becomes silent
	once sync.Once
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &tapped{Conn: conn, wire: w, deaf: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns == nil {
		w.conns = map[*tapped]bool{}
	}
	w.conns[c] = true
	return c, nil
}

// arm has act called at the nth read or write from now on.
func (w *wire) arm(n int, act func(*tapped)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.at, w.act = 0, n, act
}

// disarm tells whether act was called.
func (w *wire) disarm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.act = nil
	return w.count >= w.at
}

func (w *wire) step(c *tapped) {
	w.mu.Lock()
	w.count++
	act := w.act
	if w.count != w.at {
		act = nil
	}
	w.mu.Unlock()
	if act != nil {
		act(c)
	}
}

// each does something with every open connection.
func (w *wire) each(do func(*tapped)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		do(c)
	}
}

func (c *tapped) Write(b []byte) (int, error) {
	c.wire.step(c)
	select {
	case <-c.deaf:
		return len(b), nil // what the network swallows was sent, for all that the sender knows
	default:
		return c.Conn.Write(b)
	}
}

// Read reports a step between the wait for bytes and giving them on, which is where an answer gets lost.
func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.step(c)
	select {
	case <-c.deaf:
		<-c.closed()
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// silence has nothing go through any more, without an error.
func (c *tapped) silence() { c.once.Do(func() { close(c.deaf) }) }

// closed is closed once this end has closed the connection.
func (c *tapped) closed() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c.wire.mu.Lock()
			open := c.wire.conns[c]
			c.wire.mu.Unlock()
			if !open {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return done
}

func (c *tapped) Close() error {
	c.wire.mu.Lock()
	delete(c.wire.conns, c)
	c.wire.mu.Unlock()
	return c.Conn.Close()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
