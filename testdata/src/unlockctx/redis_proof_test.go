package unlockctx

import (
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

// leased is one function of redis.go or redis_good.go, bound to its handle.
type leased func(ctx context.Context, shard string, work Import) error

func over[H any](handle H, f func(context.Context, H, string, Import) error) leased {
	return func(ctx context.Context, shard string, work Import) error { return f(ctx, handle, shard, work) }
}

func TestBadRedisSendsNothingAndLeavesTheLock(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, f := range map[string]leased{
		"deferred closure": over[*redis.Client](rdb, Redis),
		"deferred helper":  over[*redis.Client](rdb, RedisHelper),
		"group":            over[redis.UniversalClient](rdb, RedisGrouped),
		"redsync":          over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), Redsync),
		"bsm/redislock":    over[*redislock.Client](redislock.New(rdb), Bsm),
	} {
		t.Run(name, func(t *testing.T) {
			err := stopped(t, func(ctx context.Context, work Import) error { return f(ctx, name, work) })
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped with %v, want %v", err, context.Canceled)
			}
			if s.Take(leaseKey(name), "another") {
				t.Fatal("another gets the shard, want it left locked for its TTL")
			}
		})
	}
}

// These two end their own context, so that nobody has to stop them.
func TestBadRedisLeavesTheLockEachTime(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, f := range map[string]leased{
		"cancel deferred last": over[*redislock.Client](redislock.New(rdb), Bsm),
		"group":                over[redis.UniversalClient](rdb, RedisGrouped),
	} {
		t.Run(name, func(t *testing.T) {
			err := finished(t, func(ctx context.Context, work Import) error { return f(ctx, name, work) })
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if s.Take(leaseKey(name), "another") {
				t.Fatal("another gets the shard, want it left locked for its TTL")
			}
		})
	}
}

// Nothing of the release is on the wire: the server sees the acquire and no script.
func TestBadRedisSendsNothing(t *testing.T) {
	s := proof.Redis(t)
	g := s.Before("none", func() {})
	rdb := s.V9(g.Addr)
	count := func(f func(context.Context, *redis.Client, string, Import) error, shard string) (scripts int) {
		before := len(g.Sent())
		_ = stopped(t, func(ctx context.Context, work Import) error { return f(ctx, rdb, shard, work) })
		for _, command := range g.Sent()[before:] {
			if len(command) > 4 && command[:4] == "eval" {
				scripts++
			}
		}
		return scripts
	}
	if n := count(Redis, "bad"); n != 0 {
		t.Fatalf("scripts sent = %d, want none", n)
	}
	if n := count(RedisDetached, "good"); n == 0 {
		t.Fatal("no script is sent with a context that is alive")
	}
}

func TestGoodRedisFreesWhenStopped(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, f := range map[string]leased{
		"deferred":      over[*redis.Client](rdb, RedisDetached),
		"group":         over[redis.UniversalClient](rdb, RedisGroupedDetached),
		"redsync":       over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), RedsyncDetached),
		"bsm/redislock": over[*redislock.Client](redislock.New(rdb), BsmDetached),
	} {
		t.Run(name, func(t *testing.T) {
			err := stopped(t, func(ctx context.Context, work Import) error { return f(ctx, name, work) })
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHeld) {
				t.Fatalf("stopped with %v, want %v alone", err, context.Canceled)
			}
			s.MustTake(leaseKey(name), "another")
		})
	}
	if err := finished(t, func(ctx context.Context, work Import) error { return StraightOn(ctx, rdb, "straight on", work) }); err != nil {
		t.Fatal(err)
	}
}

func TestRedisReturnedRelease(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	claim := func(f func(context.Context, *redis.Client, string) (func() error, error), shard string) error {
		ctx, stop := context.WithCancel(t.Context())
		release, err := f(ctx, rdb, shard)
		stop()
		if err != nil {
			t.Fatal(err)
		}
		return release()
	}
	if err := claim(RedisClaim, "bad"); !errors.Is(err, context.Canceled) || s.Take(leaseKey("bad"), "another") {
		t.Fatalf("release = %v, want %v and the shard locked", err, context.Canceled)
	}
	if err := claim(RedisClaimDetached, "good"); err != nil {
		t.Fatal(err)
	}
	s.MustTake(leaseKey("good"), "another")
}

func TestRedisAfterDone(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	follow := func(f func(context.Context, *redis.Client, string, func()) error, shard string) error {
		ctx, stop := context.WithCancel(t.Context())
		return f(ctx, rdb, shard, stop)
	}
	if err := follow(RedisFollow, "bad"); !errors.Is(err, context.Canceled) || s.Take(leaseKey("bad"), "another") {
		t.Fatalf("release = %v, want %v and the shard locked", err, context.Canceled)
	}
	if err := follow(RedisFollowDetached, "good"); err != nil {
		t.Fatal(err)
	}
	s.MustTake(leaseKey("good"), "another")
}

func TestRedisCleanup(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	t.Run("bad", func(t *testing.T) { RedisForTest(t, rdb, "bad") })
	t.Run("good", func(t *testing.T) { RedisForTestDetached(t, rdb, "good") })
	if s.Take(leaseKey("bad"), "another") {
		t.Fatal("another gets the shard, want it left locked for its TTL")
	}
	s.MustTake(leaseKey("good"), "another")
}

func TestEtcd(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{testserver.Etcd(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	session := func() *concurrency.Session {
		s, err := concurrency.NewSession(client)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	stop := func(shard string, f func(context.Context, *concurrency.Session, string, Import) error) (err, next error) {
		mine := session()
		err = stopped(t, func(ctx context.Context, work Import) error { return f(ctx, mine, shard, work) })
		return err, concurrency.NewMutex(session(), "/shards/"+shard).TryLock(t.Context())
	}

	// The key stays for as long as the session lives, which renews its lease.
	if err, next := stop("bad", Etcd); !errors.Is(err, context.Canceled) || !errors.Is(next, concurrency.ErrLocked) {
		t.Fatalf("stopped with %v, another gets %v; want the shard left locked", err, next)
	}
	if err, next := stop("good", EtcdDetached); !errors.Is(err, context.Canceled) || next != nil {
		t.Fatalf("stopped with %v, another gets %v; want the shard free", err, next)
	}
}
