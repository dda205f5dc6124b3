package pgadvisory

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

type somePool struct{ _ [64]byte }

func TestPinLeavesOneConnection(t *testing.T) {
	pool := PoolOf(new(somePool))
	var unpins []func()
	for range 3 {
		unpin, err := pool.Pin(4)
		if err != nil {
			t.Fatal(err)
		}
		unpins = append(unpins, unpin)
	}
	if _, err := pool.Pin(4); !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("the fourth pin of four gave %v, want ErrPoolExhausted", err)
	}
	if _, err := pool.Pin(0); err != nil {
		t.Errorf("a pin of a pool without limit gave %v", err)
	}
	unpins[0]()
	unpins[0]() // counts once
	unpins[1]()
	if _, err := pool.Pin(4); err != nil {
		t.Errorf("a pin after unpins gave %v", err)
	}
	if _, err := pool.Pin(4); !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("one more gave %v, want ErrPoolExhausted: the second call of an unpin counted", err)
	}
}

func TestPoolIsKnownByItsPointerAndForgottenWithIt(t *testing.T) {
	a, b := new(somePool), new(somePool)
	of, again, other := PoolOf(a), PoolOf(a), PoolOf(b)
	if of != again || of == other {
		t.Error("PoolOf does not tell pools apart by their pointers")
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	for end := time.Now().Add(10 * time.Second); count(&pools) > 0; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(end) {
			t.Fatalf("%d pools are remembered that are gone", count(&pools))
		}
	}
}

func count(m interface{ Range(func(k, v any) bool) }) (n int) {
	m.Range(func(_, _ any) bool { n++; return true })
	return n
}

func TestLockerOfAPoolLivesAsLongAsItsUsers(t *testing.T) {
	pool := PoolOf(new(somePool))
	made := 0
	make := func() (*lock.Locker, error) {
		made++
		return lock.New(New(noSessions{}, Options{}))
	}
	failed := errors.New("failed")
	if _, _, err := pool.Locker(func() (*lock.Locker, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("Locker gave %v, want the error of its making", err)
	}
	first, firstDone, err := pool.Locker(make)
	if err != nil {
		t.Fatal(err)
	}
	second, secondDone, err := pool.Locker(make)
	if err != nil {
		t.Fatal(err)
	}
	if first != second || made != 1 {
		t.Errorf("two users have %d Lockers", made)
	}
	firstDone()
	firstDone() // counts once
	if third, done, err := pool.Locker(make); err != nil || third != first {
		t.Errorf("a third user has another Locker (%v)", err)
	} else {
		done()
	}
	secondDone()
	if err := first.Close(); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("the Locker without users is open: Close gave %v", err)
	}
	if _, _, err := pool.Locker(make); err != nil || made != 2 {
		t.Errorf("the next user has no Locker of its own: made %d (%v)", made, err)
	}
}

// noSessions is for Lockers that take no lock.
type noSessions struct{ Sessions }

func (noSessions) Close() error { return nil }
