package unlockresult

import (
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

// leased is one function of redis.go or redis_good.go, bound to its handle.
type leased func(ctx context.Context, account string, work Work) error

func over[H any](handle H, f func(context.Context, H, string, Work) error) leased {
	return func(ctx context.Context, account string, work Work) error { return f(ctx, handle, account, work) }
}

func overRedigo(conn redigo.Conn, f func(redigo.Conn, string, func() error) error) leased {
	return func(ctx context.Context, account string, work Work) error {
		return f(conn, account, func() error { return work(ctx) })
	}
}

// overtaken runs a program whose lease ends while it works, so that another takes the account. It
// returns what the program ends with, and fails the test unless the account is the other's still.
func overtaken(t *testing.T, s *proof.Store, run leased, account string) error {
	t.Helper()
	err := run(t.Context(), account, func(context.Context) error {
		s.Overtake(leaseKey(account), "another")
		return nil
	})
	if holder := s.Holder(leaseKey(account)); holder != "another" {
		t.Fatalf("the account is %q's, want the other's", holder)
	}
	return err
}

func TestBadRedisReportsSuccessAfterTheLockIsLost(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	rs := redsync.New(goredis.NewPool(rdb))
	for name, run := range map[string]leased{
		"error":         over[*redis.Client](rdb, RedisErr),
		"result":        over[redis.UniversalClient](rdb, RedisResult),
		"deferred":      over[*redis.Client](rdb, RedisDeferred),
		"methods":       over[*redis.Client](rdb, RedisMethods),
		"redigo":        overRedigo(s.Redigo(s.Addr), Redigo),
		"rueidis":       over[rueidis.Client](s.Rueidis(s.Addr), Rueidis),
		"redsync":       over[*redsync.Redsync](rs, Redsync),
		"redsync blank": over[*redsync.Redsync](rs, RedsyncBlank),
		"bsm/redislock": over[*redislock.Client](redislock.New(rdb), Bsm),
	} {
		t.Run(name, func(t *testing.T) {
			if err := overtaken(t, s, run, name); err != nil {
				t.Fatalf("settled with %v, want no error: nobody reads the answer", err)
			}
		})
	}
}

func TestGoodRedisReportsTheLoss(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]leased{
		"checked":       over[*redis.Client](rdb, RedisChecked),
		"nil":           over[*redis.Client](rdb, RedisNil),
		"methods":       over[*redis.Client](rdb, RedisMethodsChecked),
		"redigo":        overRedigo(s.Redigo(s.Addr), RedigoChecked),
		"rueidis":       over[rueidis.Client](s.Rueidis(s.Addr), RueidisChecked),
		"redsync":       over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), RedsyncChecked),
		"bsm/redislock": over[*redislock.Client](redislock.New(rdb), BsmChecked),
	} {
		t.Run(name, func(t *testing.T) {
			if err := overtaken(t, s, run, name); !errors.Is(err, ErrLost) {
				t.Fatalf("settled with %v, want %v", err, ErrLost)
			}
			if err := run(t.Context(), name+" kept", func(context.Context) error { return nil }); err != nil {
				t.Fatalf("settled an account whose lock was kept with %v", err)
			}
			if err := run(t.Context(), name, nil); !errors.Is(err, ErrBusy) {
				t.Fatalf("settled another's account with %v, want %v", err, ErrBusy)
			}
		})
	}
	if err := Forget(t.Context(), rdb, "any"); err != nil {
		t.Fatal(err)
	}
}

// A compare-and-delete script with an else branch answers 0 and no error; redis.Nil comes only from
// one without.
func TestScriptAnswersZeroAndNoError(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	s.MustTake(leaseKey("theirs"), "another")
	for _, key := range []string{leaseKey("theirs"), leaseKey("nobody's")} {
		if got, err := freeScript.Run(t.Context(), rdb, []string{key}, "ours").Result(); got != int64(0) || err != nil {
			t.Errorf("%s: %v, %v; want 0 and no error", key, got, err)
		}
		if got, err := nilScript.Run(t.Context(), rdb, []string{key}, "ours").Result(); got != nil || !errors.Is(err, redis.Nil) {
			t.Errorf("%s: %v, %v; want nil and %v", key, got, err, redis.Nil)
		}
	}
}
