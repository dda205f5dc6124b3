package mysqllock_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestNewRefusesWhatCannotBeRight(t *testing.T) {
	s := newServer(t)
	for what, make := range map[string]func() (*mysqllock.Locker, error){
		"no pool":      func() (*mysqllock.Locker, error) { return mysqllock.New(nil) },
		"no heartbeat": func() (*mysqllock.Locker, error) { return mysqllock.New(s.admin, mysqllock.Heartbeat(0)) },
		"a short step": func() (*mysqllock.Locker, error) {
			return mysqllock.New(s.admin, mysqllock.WaitStep(999*time.Millisecond))
		},
		"a wrong default": func() (*mysqllock.Locker, error) {
			return mysqllock.New(s.admin, mysqllock.Defaults(lock.ReleaseTimeout(-1)))
		},
	} {
		if _, err := make(); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

func TestSharedIsUnsupported(t *testing.T) {
	s := newServer(t)
	if _, err := s.locker(s.admin).Acquire(patient(t), key(t), lock.Shared()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("shared: %v, want ErrUnsupported", err)
	}
}

func TestAnyNameCanBeLocked(t *testing.T) {
	s := newServer(t)
	l := s.locker(s.pool(t, nil))
	for what, k := range map[string]lock.Key{
		"over 64 characters":          key(t, strings.Repeat("long", 60)),
		"of other scripts":            key(t, "名前", "имя"),
		"a literal":                   lock.LiteralKey("MySQL lock " + t.Name()),
		"a literal that needs quotes": lock.LiteralKey(`it's "a" \ % ` + "`name` -- /*?"),
		"a literal in UTF-8":          lock.LiteralKey("schloß-名前"),
		"a literal that is too long":  lock.LiteralKey(t.Name() + strings.Repeat("x", 200)),
	} {
		h, err := l.Acquire(patient(t), k)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if s.holder(k.Name64()) == 0 {
			t.Errorf("%s: the server has no lock %q", what, k.Name64())
		}
		if err := h.Check(patient(t)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := h.Release(patient(t)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if s.holder(k.Name64()) != 0 {
			t.Errorf("%s: held after the release", what)
		}
	}
}

func TestLiteralKeyExcludesPlainGetLock(t *testing.T) {
	s := newServer(t)
	const name = "literal's näme"
	s.take(name)
	if _, err := s.locker(s.admin).Acquire(patient(t), lock.LiteralKey(name), lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("try: %v, want ErrNotAcquired", err)
	}
}

func TestManyKeysShareOneConnection(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	l := s.locker(db)
	var keys []lock.Key
	for i := range 600 { // more than one statement has
		keys = append(keys, key(t, fmt.Sprint(i)))
	}
	h, err := l.AcquireAll(patient(t), keys)
	if err != nil {
		t.Fatal(err)
	}
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if err := h.Check(patient(t)); err != nil {
		t.Error(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
	for _, k := range keys {
		if s.holder(k.Name64()) != 0 {
			t.Fatalf("%s is held after the release", k)
		}
	}
}

// A process's own locks are ErrKeyCollision when two names have one value, but not when MySQL takes two
// literals for one lock: then both are granted, and both must be released.
func TestEqualNamesInOneHoldAreReleasedAsOftenAsTaken(t *testing.T) {
	s := newServer(t)
	l := s.locker(s.pool(t, nil))
	k := key(t)
	h, err := l.AcquireAll(patient(t), []lock.Key{k, lock.LiteralKey(k.Name64())})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
	if s.holder(k.Name64()) != 0 {
		t.Error("held after the release")
	}
}

func TestBoundedWaitsTakeTheirTime(t *testing.T) {
	s := newServer(t)
	k := key(t)
	s.take(k.Name64())
	l := s.locker(s.pool(t, nil), mysqllock.WaitStep(time.Second))
	for _, wait := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond} {
		start := time.Now()
		_, err := l.Acquire(patient(t), k, lock.Wait(wait))
		took := time.Since(start)
		t.Logf("Wait(%v) took %v", wait, took)
		if !errors.Is(err, lock.ErrTimeout) {
			t.Errorf("Wait(%v): %v, want ErrTimeout", wait, err)
		}
		if took < wait-10*time.Millisecond {
			t.Errorf("Wait(%v) took %v", wait, took)
		}
	}
	s.waiting(k.Name64(), 0)
}

func TestWaitGoesOnOverSteps(t *testing.T) {
	s := newServer(t)
	k := key(t)
	conn := s.take(k.Name64())
	l := s.locker(s.pool(t, nil), mysqllock.WaitStep(time.Second))
	time.AfterFunc(1500*time.Millisecond, func() { conn.ExecContext(context.Background(), "DO RELEASE_LOCK(?)", k.Name64()) })
	h, err := l.Acquire(patient(t), k)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
}

func TestStoppedWaitIsAnErrorAndNotBusyAndLeavesNothing(t *testing.T) {
	s := newServer(t)
	keys := twoKeys(t)
	first, second := keys[0].Name64(), keys[1].Name64()
	s.take(second)
	db := s.pool(t, nil)
	l := s.locker(db)
	for _, stop := range []string{"KILL QUERY", "KILL"} {
		done := make(chan error)
		go func() {
			_, err := l.AcquireAll(patient(t), keys)
			done <- err
		}()
		s.waiting(second, 1)
		s.exec(stop + " " + number(s.holder(first)))
		err := <-done
		t.Logf("%s: %v", stop, err)
		if err == nil || errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, lock.ErrTimeout) {
			t.Errorf("%s: %v, want another error", stop, err)
		}
		s.wantNothing(first)
		if n := db.Stats().OpenConnections; n != 0 {
			t.Errorf("%s: %d connections are kept", stop, n)
		}
	}
}

func TestAcquireAndReleaseAreOneStatementEach(t *testing.T) {
	s := newServer(t)
	var sent []string
	db := s.rewritingPool(func(query string) string { sent = append(sent, query); return query })
	h, err := s.locker(db).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(patient(t)); err != nil {
		t.Fatal(err)
	}
	if len(sent) != 2 || !strings.Contains(sent[0], "GET_LOCK") || !strings.Contains(sent[1], "RELEASE_LOCK") {
		t.Errorf("statements: %q; want one GET_LOCK and one RELEASE_LOCK", sent)
	}
}

// A plain no costs no connection.
func TestBusyKeyFreesThoseBeforeItAndKeepsTheConnection(t *testing.T) {
	s := newServer(t)
	keys := twoKeys(t)
	s.take(keys[1].Name64())
	db := s.pool(t, nil)
	if err := db.PingContext(patient(t)); err != nil { // opens the connection
		t.Fatal(err)
	}
	l := s.locker(db)
	for wait, want := range map[time.Duration]error{0: lock.ErrNotAcquired, 20 * time.Millisecond: lock.ErrTimeout} {
		for range 20 {
			if _, err := l.AcquireAll(patient(t), keys, lock.Wait(wait)); !errors.Is(err, want) {
				t.Errorf("Wait(%v): %v, want %v", wait, err, want)
			}
			// On a loaded machine the client may give up, and close the connection, before it has heard of the no.
			if wait == 0 || db.Stats().OpenConnections == 1 {
				break
			}
			t.Log("the client gave up first")
			s.wantNothing(keys[0].Name64())
		}
		if id := s.holder(keys[0].Name64()); id != 0 {
			t.Errorf("Wait(%v): connection %d still has the first key", wait, id)
		}
		if st := db.Stats(); st.OpenConnections != 1 || st.InUse != 0 {
			t.Errorf("Wait(%v): %d connections, %d in use; want the one, free", wait, st.OpenConnections, st.InUse)
		}
	}
}

// twoKeys are in the order in which they are taken.
func twoKeys(t *testing.T) []lock.Key {
	keys := []lock.Key{key(t, "a"), key(t, "b")}
	slices.SortFunc(keys, lock.Key.Compare)
	return keys
}

// The server sees deadlocks between connections, so that one hold needs several keys to take part in
// one. The third connection makes the hold the one that closes the circle.
func TestDeadlockLeavesNothingOfTheHold(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	keys := twoKeys(t)
	first, second := keys[0].Name64(), keys[1].Name64()
	gate, other := s.take(first), s.take(second)

	acquired := make(chan error)
	l := s.locker(db)
	go func() {
		_, err := l.AcquireAll(patient(t), keys)
		acquired <- err
	}()
	s.waiting(first, 1)
	opposite := make(chan error)
	go func() {
		_, err := other.ExecContext(patient(t), "DO GET_LOCK(?, 20)", first)
		opposite <- err
	}()
	s.eventually(10*time.Second, func() error {
		if n := s.plainWaiters(); n != 2 {
			return fmt.Errorf("%d waiters", n)
		}
		return nil
	})
	if err := mysqllock.Release(patient(t), gate, first); err != nil {
		t.Fatal(err)
	}

	err := <-acquired
	var code *mysql.MySQLError
	if !errors.Is(err, lock.ErrDeadlock) || !errors.As(err, &code) || code.Number != 1213 {
		t.Errorf("acquire: %v, want ErrDeadlock with the server's 1213", err)
	}
	if err := <-opposite; err != nil {
		t.Errorf("the other: %v", err)
	}
	if st := db.Stats(); st.InUse != 0 || st.OpenConnections != 1 {
		t.Errorf("%d connections in use, %d open; the one that the server answered on should be kept", st.InUse, st.OpenConnections)
	}
	for _, n := range []string{first, second} {
		if err := mysqllock.Release(patient(t), other, n); err != nil {
			t.Errorf("the other holds both: %v", err)
		}
	}
}

func TestLockLeftOnAPooledConnectionIsHeldBySomeoneElse(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	k := key(t)
	conn, err := db.Conn(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(patient(t), "DO GET_LOCK(?, 0)", k.Name64()); err != nil {
		t.Fatal(err)
	}
	conn.Close() // with the lock on it
	id := s.holder(k.Name64())

	l := s.locker(db)
	if _, err := l.Acquire(patient(t), k, lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("try: %v, want ErrNotAcquired", err)
	}
	if _, err := l.Acquire(patient(t), k, lock.Wait(100*time.Millisecond)); !errors.Is(err, lock.ErrTimeout) {
		t.Errorf("wait: %v, want ErrTimeout", err)
	}
	if now := s.holder(k.Name64()); now != id {
		t.Errorf("connection %d holds the lock, want %d as before", now, id)
	}
	done := make(chan error)
	go func() {
		h, err := l.Acquire(patient(t), k)
		if err == nil {
			err = h.Release(patient(t))
		}
		done <- err
	}()
	s.waiting(k.Name64(), 1)
	s.kill(id)
	if err := <-done; err != nil {
		t.Errorf("once it was freed: %v", err)
	}
}

func TestHoldersLeaveTheirPoolAConnection(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	db.SetMaxOpenConns(4)
	l, other := s.locker(db), s.locker(db)
	var wg sync.WaitGroup
	release, taken := make(chan struct{}), make(chan error)
	for i := range 4 {
		wg.Go(func() {
			from := l
			if i%2 == 1 {
				from = other // the count is the pool's
			}
			taken <- from.Do(patient(t), key(t, fmt.Sprint(i)), func(ctx context.Context) error {
				if _, err := db.ExecContext(ctx, "DO 1"); err != nil { // the work
					return err
				}
				taken <- nil
				<-release
				return nil
			})
		})
	}
	exhausted := 0
	for range 4 {
		if err := <-taken; errors.Is(err, lock.ErrPoolExhausted) {
			exhausted++
		} else if err != nil {
			t.Error(err)
		}
	}
	if exhausted != 1 {
		t.Errorf("%d of 4 had ErrPoolExhausted, want 1", exhausted)
	}
	close(release)
	for range 3 {
		if err := <-taken; err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if st := db.Stats(); st.InUse != 0 {
		t.Errorf("%d connections in use at the end", st.InUse)
	}
}

func TestNestedAcquireDoesNotWaitForItsOwnConnections(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	db.SetMaxOpenConns(3)
	l := s.locker(db)
	err := l.Do(patient(t), key(t, "outer"), func(ctx context.Context) error {
		for range 2 { // the other two
			conn, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
		}
		return l.Do(ctx, key(t, "inner"), func(context.Context) error { return nil })
	})
	if !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("nested: %v, want ErrPoolExhausted", err)
	}
}

func TestNestedAcquireWaitsForAConnectionThatTakesLongToOpen(t *testing.T) {
	s := newServer(t)
	var slow atomic.Bool
	db := s.poolOf(func(c driver.Connector) driver.Connector { return slowConnector{c, &slow} })
	db.SetMaxOpenConns(4)
	l := s.locker(db)
	err := l.Do(patient(t), key(t, "outer"), func(ctx context.Context) error {
		slow.Store(true)
		return l.Do(ctx, key(t, "inner"), func(context.Context) error { return nil })
	})
	if err != nil {
		t.Errorf("nested, with room in the pool: %v", err)
	}
}

// slowConnector takes longer to connect than one who holds a lock waits for a pool that is full.
type slowConnector struct {
	driver.Connector
	slow *atomic.Bool
}

func (s slowConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if s.slow.Load() {
		select {
		case <-time.After(1200 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.Connector.Connect(ctx)
}

func TestConnectionThatTookNoStatementIsReplaced(t *testing.T) {
	s := newServer(t)
	w := &wire{}
	db := s.pool(t, w)
	if err := db.PingContext(patient(t)); err != nil {
		t.Fatal(err)
	}
	w.arm(1, func(c *tapped) { c.Conn.Close() }) // the first write fails, of which the driver says ErrBadConn
	h, err := s.locker(db).Acquire(patient(t), key(t))
	if err != nil {
		t.Fatal(err)
	}
	if !w.disarm() {
		t.Error("no connection was closed")
	}
	if err := h.Release(patient(t)); err != nil {
		t.Error(err)
	}
}

// counter is a table that would show two at a time inside, on the server that the lock is on.
func (s *server) counter() (enter func(context.Context) error) {
	s.Helper()
	s.exec("CREATE TABLE counter (inside INT NOT NULL, entered INT NOT NULL, overlaps INT NOT NULL) ENGINE = InnoDB")
	s.exec("INSERT INTO counter VALUES (0, 0, 0)")
	return func(ctx context.Context) error {
		if _, err := s.admin.ExecContext(ctx, "UPDATE counter SET inside = inside + 1, entered = entered + 1, overlaps = overlaps + (inside > 1)"); err != nil {
			return err
		}
		_, err := s.admin.ExecContext(ctx, "UPDATE counter SET inside = inside - 1")
		return err
	}
}

func TestCounterSeesAnOverlap(t *testing.T) {
	s := newServer(t)
	enter := s.counter()
	s.exec("UPDATE counter SET inside = 1") // another who is inside
	if err := enter(patient(t)); err != nil {
		t.Fatal(err)
	}
	if n := s.number("SELECT overlaps FROM counter"); n != 1 {
		t.Errorf("%d overlaps, want 1", n)
	}
}

func TestSixtyFourGoroutinesAreInsideOneAtATime(t *testing.T) {
	s := newServer(t)
	contend(t, s, 64, 2)
}

// contend has goroutines enter a counter one at a time, rounds times each, in three processes as far as
// the server can tell: three pools.
func contend(t *testing.T, s *server, goroutines, rounds int) {
	enter := s.counter()
	s.exec(mysqllock.Schema)
	k := key(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var lockers []*mysqllock.Locker
	for range 3 {
		lockers = append(lockers, s.locker(s.pool(t, nil), mysqllock.Fencing()))
	}
	var wg sync.WaitGroup
	start := time.Now()
	for i := range goroutines {
		wg.Go(func() {
			for range rounds {
				err := lockers[i%len(lockers)].Do(ctx, k, func(ctx context.Context) error {
					token, ok := lock.Token(ctx)
					if prev := s.number("SELECT COALESCE(MAX(entered), 0) FROM counter"); !ok || token <= prev {
						return fmt.Errorf("token %d after %d holders", token, prev)
					}
					return enter(ctx)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	entered := s.number("SELECT entered FROM counter")
	t.Logf("%d entered in %v", entered, time.Since(start))
	if entered != int64(goroutines*rounds) {
		t.Errorf("%d entered, want %d", entered, goroutines*rounds)
	}
	if n := s.number("SELECT overlaps FROM counter"); n != 0 {
		t.Errorf("%d times two were inside", n)
	}
	s.wantNothing(k.Name64())
}

func TestDoSharesOneLockerOfAPool(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	k := key(t)
	err := mysqllock.Do(patient(t), db, k, func(ctx context.Context) error {
		if s.holder(k.Name64()) == 0 {
			t.Error("the lock is not held")
		}
		if err := mysqllock.Do(ctx, db, k, func(context.Context) error { return nil }); !errors.Is(err, lock.ErrReentrant) {
			t.Errorf("inside: %v, want ErrReentrant", err)
		}
		return mysqllock.Do(context.Background(), db, k, func(context.Context) error { return nil }, lock.Try())
	})
	if !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("beside: %v, want ErrNotAcquired", err)
	}
	s.wantNothing(k.Name64())
	if err := mysqllock.Do(patient(t), nil, k, func(context.Context) error { return nil }); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("without a pool: %v, want ErrInvalid", err)
	}
}
