package blinddel

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/blinddel/shardkey"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const shard = 7

type program struct {
	name string
	run  func(ctx context.Context, s *proof.Store, work Rebuild) error
}

func v9(name string, f func(context.Context, *redisv9.Client, int, Rebuild) error) program {
	return program{name, func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return f(ctx, s.V9(s.Addr), shard, work)
	}}
}

// own is the program's own client, over go-redis.
type own struct{ client *redisv9.Client }

func (o own) SetNX(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	return o.client.SetNX(ctx, key, value, ttl).Result()
}
func (o own) Del(ctx context.Context, keys ...string) error { return o.client.Del(ctx, keys...).Err() }

func methods(ctx context.Context, s *proof.Store, work Rebuild) error {
	w := NewWorker(s.V9(s.Addr), shard)
	if got, err := w.TryLock(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(work(ctx), w.Unlock(ctx))
}

func closure(ctx context.Context, s *proof.Store, work Rebuild) error {
	end, err := Claim(ctx, s.V9(s.Addr), shard)
	if err != nil {
		return err
	}
	defer end()
	return work(ctx)
}

var bad = []program{
	v9("Flagged", Flagged),
	v9("Eager", Eager),
	{"Worker", methods},
	{"Claim", closure},
	v9("Tidy", Tidy),
	v9("AcrossPackages", AcrossPackages),
	{"ThroughInterface", func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return ThroughInterface(ctx, own{s.V9(s.Addr)}, shard, work)
	}},
	{"Redigo", func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return Redigo(ctx, s.Redigo(s.Addr), shard, work)
	}},
	{"V8", func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return V8(ctx, s.V8(s.Addr), shard, work)
	}},
	{"Rueidis", func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return Rueidis(ctx, s.Rueidis(s.Addr), shard, work)
	}},
}

var good = []program{
	v9("Compared", Compared),
	{"ComparedRedigo", func(ctx context.Context, s *proof.Store, work Rebuild) error {
		return ComparedRedigo(ctx, s.Redigo(s.Addr), shard, work)
	}},
	v9("Library", Library),
}

// overtaken runs p, whose lease runs out while it works; a second worker takes the shard over.
func overtaken(t *testing.T, s *proof.Store, p program) (key string, err error) {
	t.Helper()
	s.Clear()
	err = p.run(t.Context(), s, func(context.Context) error {
		key = s.LockKey()
		s.Overtake(key, "second")
		return nil
	})
	return key, err
}

func TestBadDeletesTheLockOfWhoCameAfterIt(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			key, err := overtaken(t, s, p)
			if err != nil {
				t.Errorf("the first worker notices it: %v", err)
			}
			if holder := s.Holder(key); holder != "" {
				t.Fatalf("%s is %q, want the second worker's lock deleted", key, holder)
			}
			s.MustTake(key, "third") // while the second one works
		})
	}
}

func TestGoodLeavesTheLockOfWhoCameAfterIt(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			key, err := overtaken(t, s, p)
			if err == nil {
				t.Error("the first worker does not hear that its lock was another's")
			}
			if holder := s.Holder(key); holder != "second" {
				t.Fatalf("%s is %q, want it left with the second worker", key, holder)
			}
		})
	}
}

// One who never had the lock deletes it when the release is deferred too early.
func TestOnlyTheEagerLoserDeletesTheHoldersLock(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range append(slices.Clone(bad), good...) {
		t.Run(p.name, func(t *testing.T) {
			key, _ := overtaken(t, s, p)
			s.Take(key, "second")
			err := p.run(t.Context(), s, func(context.Context) error {
				t.Error("a shard that is taken is rebuilt")
				return nil
			})
			if !errors.Is(err, errBusy) {
				t.Fatalf("refused with %v, want %v", err, errBusy)
			}
			if deleted := s.Holder(key) == ""; deleted != (p.name == "Eager") {
				t.Fatalf("the holder's lock is deleted: %v", deleted)
			}
		})
	}
}

func TestOperatorsDeleteOnPurpose(t *testing.T) {
	s := proof.Redis(t)
	client := s.V9(s.Addr)
	s.MustTake(shardkey.Lock(shard), "dead worker")
	if err := ForceUnlock(t.Context(), client, shard); err != nil {
		t.Fatal(err)
	}
	s.MustTake(shardkey.Lock(shard), "another dead worker")
	if broken, err := (&Admin{client}).BreakLock(t.Context(), shard); err != nil || !broken {
		t.Fatalf("broken = %v, %v", broken, err)
	}
	s.MustTake(shardkey.Lock(shard), "live worker")
}

// The mark of a change stays after the work, so that it is no lock: nobody gets in after it.
func TestAMarkIsUndoneOnlyAfterAFailure(t *testing.T) {
	s := proof.Redis(t)
	client, failure, calls := s.V9(s.Addr), errors.New("disk full"), 0
	handle := func(context.Context) error {
		if calls++; calls == 1 {
			return failure
		}
		return nil
	}
	if err := Once(t.Context(), client, "c1", handle); !errors.Is(err, failure) {
		t.Fatalf("failed with %v, want %v", err, failure)
	}
	for range 2 {
		if err := Once(t.Context(), client, "c1", handle); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Fatalf("handled %d times, want once after the failure", calls)
	}
}

func TestAPauseIsEndedByAnybody(t *testing.T) {
	s := proof.Redis(t)
	client := s.V9(s.Addr)
	for _, want := range []bool{true, false} {
		if began, err := Pause(t.Context(), client, "disk full"); err != nil || began != want {
			t.Fatalf("began = %v, %v; want %v", began, err, want)
		}
	}
	if err := Resume(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if why := s.Holder("rebuild:paused"); why != "" {
		t.Fatalf("still paused for %q", why)
	}
}

func TestACacheAndACounterBeginAnew(t *testing.T) {
	s := proof.Redis(t)
	client, loads := s.V9(s.Addr), 0
	load := func(string) string { loads++; return "sea, main" }
	for _, want := range []int{1, 1, 2} {
		if found, err := Synonyms(t.Context(), client, "ocean", load); err != nil || found != "sea, main" || loads != want {
			t.Fatalf("%q after %d loads, %v; want %d", found, loads, err, want)
		}
		if n, err := CountFailure(t.Context(), client, shard); err != nil || n < 1 {
			t.Fatalf("counted %d, %v", n, err)
		}
		if n := client.Get(t.Context(), "failures:7").Val(); n == "2" {
			if err := errors.Join(ChangeSynonyms(t.Context(), client, "ocean"), ResetFailures(t.Context(), client, shard)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.Holder("failures:7"); n != "1" {
		t.Fatalf("%s failures, want 1 after the reset", n)
	}
}
