package locktoken

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

type program struct {
	name string
	// timed: two acquisitions have the same value when they meet in the same second.
	timed bool
	run   func(ctx context.Context, s *proof.Store, move Move) error
}

func v9(name string, timed bool, f func(context.Context, *redisv9.Client, string, Move) error) program {
	return program{name, timed, func(ctx context.Context, s *proof.Store, move Move) error {
		return f(ctx, s.V9(s.Addr), "a7", move)
	}}
}

func methods(ctx context.Context, s *proof.Store, move Move) error {
	m := NewMover(s.V9(s.Addr), "a7")
	if got, err := m.Acquire(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(move(ctx), m.Release(ctx))
}

func closure(ctx context.Context, s *proof.Store, move Move) error {
	unlock, err := Host(ctx, s.V9(s.Addr), "a7")
	if err != nil {
		return err
	}
	return errors.Join(move(ctx), unlock())
}

func trolley(ctx context.Context, s *proof.Store, move Move) error {
	t := NewTrolley(s.V9(s.Addr))
	if got, err := t.Acquire(ctx, "a7"); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(move(ctx), t.Release(ctx, "a7"))
}

func theirs(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	return Theirs(ctx, client, shelf, uuid.NewString(), move)
}

var bad = []program{
	v9("Constant", false, Constant),
	v9("Seconds", true, Seconds),
	v9("Deadline", true, Deadline),
	{"Mover", false, methods},
	{"Host", false, closure},
	v9("AcrossPackages", false, AcrossPackages),
	{"Redigo", false, func(ctx context.Context, s *proof.Store, move Move) error {
		return Redigo(ctx, s.Redigo(s.Addr), "a7", move)
	}},
	{"V8", false, func(ctx context.Context, s *proof.Store, move Move) error {
		return V8(ctx, s.V8(s.Addr), "a7", move)
	}},
	{"Rueidis", false, func(ctx context.Context, s *proof.Store, move Move) error {
		return Rueidis(ctx, s.Rueidis(s.Addr), "a7", move)
	}},
}

var good = []program{
	v9("UUID", false, UUID),
	v9("Text", false, Text),
	v9("Bytes", false, Bytes),
	v9("Telling", false, Telling),
	{"Trolley", false, trolley},
	v9("Theirs", false, theirs),
}

// twice runs p, whose lease runs out while it works, and p once more, which takes the shelf over and
// works on until the first one has released. It returns the values under which the two held the shelf,
// who holds it after the first one's release, and what the first one was told.
func twice(t *testing.T, s *proof.Store, p program) (first, second, left string, err error) {
	t.Helper()
	s.Clear()
	holds, ends := make(chan struct{}), make(chan struct{})
	taken := sync.OnceFunc(func() { close(holds) }) // or given up
	var key string
	var next *proof.Program
	err = p.run(t.Context(), s, func(context.Context) error {
		key = s.LockKey()
		first = s.Holder(key)
		s.Lapse(key)
		next = proof.Start(t, func() error {
			defer taken()
			return p.run(t.Context(), s, func(context.Context) error {
				taken()
				<-ends
				return nil
			})
		})
		<-holds
		second = s.Holder(key)
		return nil
	})
	left = s.Holder(key)
	close(ends)
	next.Wait()
	return first, second, left, err
}

func TestBadComparesEqualForWhoIsNotTheHolder(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			first, second, left, err := twice(t, s, p)
			for end := time.Now().Add(proof.Patience); p.timed && first != second && time.Now().Before(end); {
				first, second, left, err = twice(t, s, p)
			}
			if first != second {
				t.Fatalf("the values are %q and %q, want the same", first, second)
			}
			if left != "" || err != nil {
				t.Fatalf("the shelf is %q (%v), want it freed by the first one while the second one works", left, err)
			}
		})
	}
}

func TestGoodDiffers(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			first, second, left, err := twice(t, s, p)
			if first == second {
				t.Fatalf("both have the value %q", first)
			}
			if left != second || !errors.Is(err, errLost) {
				t.Fatalf("the shelf is %q (%v), want it left with the second one and %v", left, err, errLost)
			}
		})
	}
}

// A holder whose lease is over extends the next one's when their tokens are equal.
func TestEqualTokensExtendTheNextHoldersLease(t *testing.T) {
	s := proof.Redis(t)
	late, next := NewMover(s.V9(s.Addr), "a7"), NewMover(s.V9(s.Addr), "a7")
	if got, err := late.Acquire(t.Context()); err != nil || !got {
		t.Fatalf("got = %v, %v", got, err)
	}
	s.Lapse(lockKey("a7"))
	if got, err := next.Acquire(t.Context()); err != nil || !got {
		t.Fatalf("got = %v, %v", got, err)
	}
	if err := late.Extend(t.Context()); err != nil {
		t.Fatalf("the late one is told %v, want it let to extend the other's lease", err)
	}
}

// One process has one value, which is enough against other processes.
func TestAnInstancesTokenIsNotAnothers(t *testing.T) {
	s := proof.Redis(t)
	err := AsProcess(t.Context(), s.Redigo(s.Addr), "a7", func(context.Context) error {
		s.Overtake(s.LockKey(), "another process")
		return nil
	})
	if left := s.Holder(lockKey("a7")); !errors.Is(err, errLost) || left != "another process" {
		t.Fatalf("the shelf is %q (%v), want it left with the other", left, err)
	}
	s.Clear()
	err = Numbered(t.Context(), s.V9(s.Addr), "a7", func(context.Context) error {
		//lint:ignore locktoken the test itself is the other process
		s.Overtake(lockKey("a7"), "another process")
		return nil
	})
	if left := s.Holder(lockKey("a7")); !errors.Is(err, errLost) || left != "another process" {
		t.Fatalf("the shelf is %q (%v), want it left with the other", left, err)
	}
}

// Where nobody compares, a token would not help.
func TestUncomparedDeletesWhateverTheValue(t *testing.T) {
	s := proof.Redis(t)
	err := Uncompared(t.Context(), s.V9(s.Addr), "a7", func(context.Context) error {
		s.Overtake(s.LockKey(), uuid.NewString())
		return nil
	})
	if left := s.Holder(lockKey("a7")); err != nil || left != "" {
		t.Fatalf("the shelf is %q (%v), want it freed", left, err)
	}
}

func TestAMarkTellsItsDay(t *testing.T) {
	s := proof.Redis(t)
	day := time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)
	for range 2 {
		since, err := Counted(t.Context(), s.V9(s.Addr), "d1", day)
		if err != nil || since != "2031-05-04" {
			t.Fatalf("counted since %s, %v", since, err)
		}
		day = day.AddDate(0, 0, 1)
	}
}
