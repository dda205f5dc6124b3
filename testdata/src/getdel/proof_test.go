package getdel

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/getdel/kv"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// program is one import through the gate at addr.
type program struct {
	name string
	// frees is the command with which it frees its lock.
	frees string
	run   func(ctx context.Context, s *proof.Store, addr string, work Import) error
}

// own is the program's own client, over go-redis.
type own struct{ client *redisv9.Client }

func (o own) SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return o.client.SetNX(ctx, key, value, ttl).Result()
}
func (o own) Get(ctx context.Context, key string) (string, error) {
	return o.client.Get(ctx, key).Result()
}
func (o own) Del(ctx context.Context, key string) error { return o.client.Del(ctx, key).Err() }

func v9(f func(context.Context, *redisv9.Client, string, Import) error) func(context.Context, *proof.Store, string, Import) error {
	return func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return f(ctx, s.V9(addr), "acme", work)
	}
}

func methods(ctx context.Context, s *proof.Store, addr string, work Import) error {
	i := NewImporter(s.V9(addr), "acme")
	if got, err := i.Acquire(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(work(ctx), i.Release(ctx))
}

func closure(ctx context.Context, s *proof.Store, addr string, work Import) error {
	unlock, err := Lock(ctx, s.V9(addr), "acme")
	if err != nil {
		return err
	}
	return errors.Join(work(ctx), unlock(ctx))
}

var bad = []program{
	{"Inline", "del", v9(Inline)},
	{"Importer", "del", methods},
	{"Lock", "unlink", closure},
	{"Queued", "multi", v9(Queued)},
	{"ThroughInterface", "del", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return ThroughInterface(ctx, own{s.V9(addr)}, "acme", work)
	}},
	{"AcrossPackages", "del", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return AcrossPackages(ctx, kv.New(s.V9(addr)), "acme", work)
	}},
	{"Redigo", "del", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return Redigo(ctx, s.Redigo(addr), "acme", work)
	}},
	{"V8", "del", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return V8(ctx, s.V8(addr), "acme", work)
	}},
	{"Rueidis", "del", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return Rueidis(ctx, s.Rueidis(addr), "acme", work)
	}},
}

var good = []program{
	{"Scripted", "evalsha", v9(Scripted)},
	{"ScriptedLocals", "evalsha", v9(ScriptedLocals)},
	{"FromFile", "eval", v9(FromFile)},
	{"Watched", "multi", v9(Watched)},
	{"Conditional", "delex", v9(Conditional)},
	{"DropIn", "evalsha", v9(DropIn)},
	{"RedigoScripted", "evalsha", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return RedigoScripted(ctx, s.Redigo(addr), "acme", work)
	}},
	{"RedigoWatched", "multi", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return RedigoWatched(ctx, s.Redigo(addr), "acme", work)
	}},
	{"V8Scripted", "evalsha", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return V8Scripted(ctx, s.V8(addr), "acme", work)
	}},
	{"RueidisScripted", "evalsha", func(ctx context.Context, s *proof.Store, addr string, work Import) error {
		return RueidisScripted(ctx, s.Rueidis(addr), "acme", work)
	}},
}

// overtaken runs p, whose lease runs out just before it frees the lock; a second import takes over.
func overtaken(t *testing.T, s *proof.Store, p program) (key string, err error) {
	t.Helper()
	s.Clear()
	gate := s.Before(p.frees, func() { s.Overtake(key, "second") })
	err = p.run(t.Context(), s, gate.Addr, func(context.Context) error {
		key = s.LockKey()
		return nil
	})
	gate.WantPassed(t)
	return key, err
}

func TestBadDeletesTheSecondHoldersKeyAndLetsAThirdIn(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			key, err := overtaken(t, s, p)
			if err != nil {
				t.Errorf("the first import notices it: %v", err)
			}
			if holder := s.Holder(key); holder != "" {
				t.Fatalf("%s is %q, want the second holder's key deleted", key, holder)
			}
			s.MustTake(key, "third") // while the second one works
		})
	}
}

func TestGoodLeavesTheSecondHolderItsKey(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			key, err := overtaken(t, s, p)
			if err == nil {
				t.Error("the first import does not hear that its lock was another's")
			}
			if holder := s.Holder(key); holder != "second" || s.Take(key, "third") {
				t.Fatalf("%s is %q, want it left with the second holder", key, holder)
			}
		})
	}
}

// Without a delay every one of them frees its lock, so that the proofs above are of the race alone.
func TestEachFreesItsOwnLock(t *testing.T) {
	s := proof.Redis(t)
	knows := slices.Contains(s.Commands(), "delex")
	for _, p := range append(slices.Clone(bad), good...) {
		t.Run(p.name, func(t *testing.T) {
			s.Clear()
			var key string
			err := p.run(t.Context(), s, s.Addr, func(context.Context) error {
				key = s.LockKey()
				return nil
			})
			if free := s.Take(key, "next"); p.frees == "delex" && !knows {
				if err == nil || free {
					t.Fatalf("a server without DELEX answers %v and frees the lock: %v", err, free)
				}
			} else if err != nil || !free {
				t.Fatalf("the lock is free: %v (%v)", free, err)
			}
		})
	}
}

// A script's number is 0 with no error when the token differs. Only one that returns nothing gives
// redis.Nil.
func TestAScriptThatDeletesNothingAnswersZeroAndNoError(t *testing.T) {
	s := proof.Redis(t)
	client, ctx := s.V9(s.Addr), t.Context()
	s.MustTake("lock", "other")
	for name, script := range map[string]string{"usual": release, "with locals": releaseLocals, "in a file": releaseFile} {
		if n, err := client.Eval(ctx, script, []string{"lock"}, "ours").Result(); n != int64(0) || err != nil {
			t.Errorf("the script %s answers %v, %v; want 0 and no error", name, n, err)
		}
	}
	const silent = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end`
	if n, err := client.Eval(ctx, silent, []string{"lock"}, "ours").Result(); n != nil || err != redisv9.Nil {
		t.Errorf("a script without another branch answers %v, %v; want redis.Nil", n, err)
	}
	if holder := s.Holder("lock"); holder != "other" {
		t.Errorf("the lock is %q", holder)
	}
}

func TestACodeWorksOnce(t *testing.T) {
	s := proof.Redis(t)
	client := s.V9(s.Addr)
	if err := SendCode(t.Context(), client, "acme", "4711"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		code string
		ok   bool
	}{{"0815", false}, {"4711", true}, {"4711", false}} {
		if ok, err := Confirm(t.Context(), client, "acme", want.code); err != nil || ok != want.ok {
			t.Fatalf("try %d with %s: %v, %v", i, want.code, ok, err)
		}
	}
}

func TestOnlyAnOlderEditionIsDropped(t *testing.T) {
	s := proof.Redis(t)
	client := s.V9(s.Addr)
	if err := client.MSet(t.Context(), "edition:acme", "7", "list:acme", "…").Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		edition string
		left    int64
	}{{"7", 2}, {"8", 0}} {
		if err := DropStale(t.Context(), client, "acme", want.edition); err != nil {
			t.Fatal(err)
		}
		if left := client.Exists(t.Context(), "edition:acme", "list:acme").Val(); left != want.left {
			t.Fatalf("after edition %s %d keys are left, want %d", want.edition, left, want.left)
		}
	}
}
