package renewrace

import (
	"context"
	"errors"
	"testing"
	"time"

	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
	"github.com/advisorylint/advisorylint/testdata/src/renewrace/kv"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// every is how often the goroutines renew. Nothing is measured by it: the work waits for a renewal.
const every = time.Millisecond

type program struct {
	name string
	// renews is the command with which it extends its lease.
	renews string
	// run transcodes in one pass or two, between which it renews; after a renewal it calls after.
	run func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error
}

// ticking is a program that renews while its work goes on: the work ends when a renewal has passed
// or the lease is known to be lost.
func ticking(name, renews string, f func(context.Context, *redisv9.Client, string, time.Duration, Transcode) error) program {
	return program{name, renews, func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return f(ctx, s.V9(addr), "v1", every, func(ctx context.Context) error {
			return errors.Join(before(ctx), after(ctx))
		})
	}}
}

func v9(name, renews string, f func(context.Context, *redisv9.Client, string, Transcode, Transcode) error) program {
	return program{name, renews, func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return f(ctx, s.V9(addr), "v1", before, after)
	}}
}

// own is the program's own client, over go-redis.
type own struct{ *redisv9.Client }

func (o own) SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return o.Client.SetNX(ctx, key, value, ttl).Result()
}

func (o own) Expire(ctx context.Context, key string, ttl time.Duration) error {
	return o.Client.Expire(ctx, key, ttl).Err()
}

func methods(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
	m := NewMachine(s.V9(addr), "v1")
	if got, err := m.Acquire(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	if err := before(ctx); err != nil {
		return err
	}
	if ok, err := m.Refresh(ctx); err != nil || !ok {
		return errors.Join(err, errLost)
	}
	return errors.Join(after(ctx), m.Release(ctx))
}

func closures(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
	extend, unlock, err := Lock(ctx, s.V9(addr), "v1")
	if err != nil {
		return err
	}
	if err := errors.Join(before(ctx), extend()); err != nil {
		return err
	}
	return errors.Join(after(ctx), unlock())
}

var bad = []program{
	ticking("Ticking", "expire", Ticking),
	ticking("Careful", "pexpire", Careful),
	{"Machine", "expire", methods},
	{"Lock", "expireat", closures},
	{"AcrossPackages", "pexpire", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return AcrossPackages(ctx, kv.Store{Client: s.V9(addr)}, "v1", before, after)
	}},
	{"ThroughInterface", "expire", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return ThroughInterface(ctx, own{s.V9(addr)}, "v1", before, after)
	}},
	{"Redigo", "pexpire", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return Redigo(ctx, s.Redigo(addr), "v1", before, after)
	}},
	{"V8", "expire", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return V8(ctx, s.V8(addr), "v1", before, after)
	}},
	{"Rueidis", "expire", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return Rueidis(ctx, s.Rueidis(addr), "v1", before, after)
	}},
}

var good = []program{
	ticking("TickingScripted", "evalsha", TickingScripted),
	v9("ScriptedLocals", "evalsha", ScriptedLocals),
	v9("Watched", "multi", Watched),
	v9("DropIn", "evalsha", DropIn),
	v9("Library", "evalsha", Library),
	{"RedigoScripted", "evalsha", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return RedigoScripted(ctx, s.Redigo(addr), "v1", before, after)
	}},
	{"V8Scripted", "evalsha", func(ctx context.Context, s *proof.Store, addr string, before, after Transcode) error {
		return V8Scripted(ctx, s.V8(addr), "v1", before, after)
	}},
}

// late runs p, whose lease runs out just before it renews; a second machine takes the video over, with
// a lease of proof.Theirs. It returns how long that one's lock lives after the renewal, whether p went
// on with the work, and what p was told.
func late(t *testing.T, s *proof.Store, p program) (ttl time.Duration, wentOn bool, err error) {
	t.Helper()
	s.Clear()
	key, gate := "", s.Open()
	before := func(context.Context) error {
		key = s.LockKey() // from now on: its acquire may be a script, as its renewal is
		gate.Stop(p.renews, func() { s.Overtake(key, "second") })
		return nil
	}
	after := func(ctx context.Context) error {
		proof.Soon(func() bool { return ctx.Err() != nil || s.Holder(key) == "second" && s.TTL(key) > proof.Theirs })
		wentOn = ctx.Err() == nil
		return context.Cause(ctx)
	}
	err = p.run(t.Context(), s, gate.Addr, before, after)
	gate.WantPassed(t)
	if holder := s.Holder(key); holder != "second" {
		t.Fatalf("%s is %q, want the second machine's", key, holder)
	}
	return s.TTL(key), wentOn, err
}

// The bad ones that compare first notice it at the next renewal; by then the other's lock is extended.
func TestBadExtendsTheLockOfWhoCameAfterIt(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			ttl, wentOn, err := late(t, s, p)
			if ttl <= proof.Theirs {
				t.Errorf("the second machine's lock lives for %v, want it extended beyond its %v", ttl, proof.Theirs)
			}
			if !wentOn && p.name != "Careful" {
				t.Errorf("the first machine does not go on: %v", err)
			}
		})
	}
}

func TestGoodLeavesTheLockOfWhoCameAfterItAlone(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			ttl, wentOn, err := late(t, s, p)
			if ttl > proof.Theirs {
				t.Errorf("the second machine's lock lives for %v, want its own %v at most", ttl, proof.Theirs)
			}
			if wentOn || err == nil {
				t.Errorf("the first machine goes on: %v (%v)", wentOn, err)
			}
		})
	}
}

func TestGoodExtendsItsOwn(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			s.Clear()
			extended := false
			err := p.run(t.Context(), s, s.Addr,
				func(ctx context.Context) error {
					return s.V9(s.Addr).PExpire(ctx, s.LockKey(), time.Hour).Err() // most of the lease is over
				},
				func(context.Context) error {
					extended = proof.Soon(func() bool { return s.TTL(s.LockKey()) > time.Hour })
					return nil
				})
			if err != nil || !extended {
				t.Fatalf("extended = %v, %v", extended, err)
			}
		})
	}
}

func TestCompletedHasAnExpiryWhileItWorks(t *testing.T) {
	s := proof.Redis(t)
	err := Completed(t.Context(), s.V9(s.Addr), "v1", func(context.Context) error {
		if ttl := s.TTL(s.LockKey()); ttl <= 0 {
			t.Errorf("the lock lives for %v", ttl)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.MustTake(lockKey("v1"), "next")
}

func TestSessionsCountersAndCachesLiveOn(t *testing.T) {
	s := proof.Redis(t)
	client, ctx := s.V9(s.Addr), t.Context()
	if err := client.Set(ctx, "session:s1", "kim", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if viewer, err := Viewer(ctx, client, "s1"); err != nil || viewer != "kim" || s.TTL("session:s1") <= time.Minute {
		t.Fatalf("%q lives for %v, %v", viewer, s.TTL("session:s1"), err)
	}
	for n := 1; n <= 21; n++ {
		if ok, err := Allowed(ctx, client, "kim"); err != nil || ok != (n <= 20) {
			t.Fatalf("upload %d is allowed: %v, %v", n, ok, err)
		}
	}
	for _, drawn := range []string{"a", "b"} {
		if got, err := Thumbnail(ctx, client, "v1", func(string) string { return drawn }); err != nil || got != "a" {
			t.Fatalf("the thumbnail is %q, %v; want the first", got, err)
		}
	}
}
