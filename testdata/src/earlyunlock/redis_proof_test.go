package earlyunlock

import (
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

// leased is one function of redis.go or redis_good.go, bound to its handle.
type leased func(ctx context.Context, printer string, run Print) error

func over[H any](handle H, f func(context.Context, H, string, Print) error) leased {
	return func(ctx context.Context, printer string, run Print) error { return f(ctx, handle, printer, run) }
}

func overRedigo(conn redigo.Conn, f func(redigo.Conn, string, func() error) error) leased {
	return func(ctx context.Context, printer string, run Print) error {
		return f(conn, printer, func() error { return run(ctx) })
	}
}

func TestBadRedisFreesTheHoldersLock(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]leased{
		"deferred": over[*redis.Client](rdb, RedisDeferred),
		"refused":  over[redis.UniversalClient](rdb, RedisRefused),
		"methods":  over[*redis.Client](rdb, RedisMethods),
		"end":      over[*redis.Client](rdb, RedisAtTheEnd),
		"redigo":   overRedigo(s.Redigo(s.Addr), Redigo),
	} {
		t.Run(name, func(t *testing.T) {
			s.MustTake(leaseKey(name), "another")
			if err := run(t.Context(), name, nothing); !errors.Is(err, errBusy) {
				t.Fatalf("refused with %v, want %v", err, errBusy)
			}
			// The other still prints, and a third one prints beside it.
			s.MustTake(leaseKey(name), "a third")
		})
	}
}

func TestGoodRedisLeavesTheHoldersLock(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]leased{
		"after the check": over[*redis.Client](rdb, RedisAfterCheck),
		"guarded":         over[*redis.Client](rdb, RedisGuarded),
		"compared":        over[*redis.Client](rdb, RedisCompared),
		"uncertain":       over[*redis.Client](rdb, RedisUncertain),
		"redigo":          overRedigo(s.Redigo(s.Addr), RedigoAfterCheck),
		"redsync":         over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), Redsync),
		"bsm/redislock":   over[*redislock.Client](redislock.New(rdb), Bsm),
	} {
		t.Run(name, func(t *testing.T) {
			s.MustTake(leaseKey(name), "another")
			if err := run(t.Context(), name, nothing); !errors.Is(err, errBusy) {
				t.Fatalf("refused with %v, want %v", err, errBusy)
			}
			if holder := s.Holder(leaseKey(name)); holder != "another" {
				t.Fatalf("the printer is %q's, want the holder's still", holder)
			}
			s.Lapse(leaseKey(name))
			if err := run(t.Context(), name, nothing); err != nil {
				t.Fatal(err)
			}
			s.MustTake(leaseKey(name), "another") // it was freed
		})
	}
}

// The key is set and the client is told of an error: a release that compares the token frees it.
func TestGoodRedisFreesWhatItMayHave(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	rdb.AddHook(lostReply{})
	if err := RedisUncertain(t.Context(), rdb, "far", nothing); !errors.Is(err, errLostReply) {
		t.Fatalf("ended with %v, want %v", err, errLostReply)
	}
	s.MustTake(leaseKey("far"), "another")
}

var errLostReply = errors.New("connection reset")

// lostReply has each SET sent, and its answer lost.
type lostReply struct{}

func (lostReply) DialHook(next redis.DialHook) redis.DialHook { return next }

func (lostReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (lostReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "set" {
			err = errLostReply
			cmd.SetErr(err)
		}
		return err
	}
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
	holder := concurrency.NewMutex(session(), "/printers/near")
	if err := holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Etcd(t.Context(), session(), "near", nothing); !errors.Is(err, errBusy) {
		t.Fatalf("refused with %v, want %v", err, errBusy)
	}
	if err := concurrency.NewMutex(session(), "/printers/near").TryLock(t.Context()); !errors.Is(err, concurrency.ErrLocked) {
		t.Fatalf("a third one gets %v, want %v", err, concurrency.ErrLocked)
	}
	if err := holder.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Etcd(t.Context(), session(), "near", nothing); err != nil {
		t.Fatal(err)
	}
}
