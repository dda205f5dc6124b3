package acquireresult

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
type leased func(ctx context.Context, invoice string, pay Pay) error

func over[H any](handle H, f func(context.Context, H, string, Pay) error) leased {
	return func(ctx context.Context, invoice string, pay Pay) error { return f(ctx, handle, invoice, pay) }
}

func overRedigo(conn redigo.Conn, f func(redigo.Conn, string, func() error) error) leased {
	return func(ctx context.Context, invoice string, pay Pay) error {
		return f(conn, invoice, func() error { return pay(ctx) })
	}
}

func TestBadRedisPaysWithoutTheLock(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]leased{
		"error only":     over[*redis.Client](rdb, RedisErrorOnly),
		"blank":          over[redis.UniversalClient](rdb, RedisBlank),
		"dropped answer": over[*redis.Client](rdb, RedisDroppedAnswer),
		"dropped error":  over[*redis.Client](rdb, RedisDroppedError),
		"redigo":         overRedigo(s.Redigo(s.Addr), RedigoErrorOnly),
		"rueidis":        over[rueidis.Client](s.Rueidis(s.Addr), RueidisErrorOnly),
		"redsync":        over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), RedsyncDropped),
		"bsm/redislock":  over[*redislock.Client](redislock.New(rdb), BsmDropped),
	} {
		t.Run(name, func(t *testing.T) {
			paid := 0
			s.MustTake(leaseKey(name), "another")
			err := run(t.Context(), name, count(&paid))
			if paid != 1 || errors.Is(err, errBusy) || s.Holder(leaseKey(name)) != "another" {
				t.Fatalf("paid %d times, %v; want once beside the holder", paid, err)
			}
		})
	}
}

func TestGoodRedisLeavesATakenInvoiceAlone(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]leased{
		"read":          over[*redis.Client](rdb, RedisRead),
		"val":           over[redis.UniversalClient](rdb, RedisVal),
		"args":          over[*redis.Client](rdb, RedisArgs),
		"kept answer":   over[*redis.Client](rdb, RedisKeptAnswer),
		"kept error":    over[*redis.Client](rdb, RedisKeptError),
		"redigo string": overRedigo(s.Redigo(s.Addr), RedigoString),
		"redigo nil":    overRedigo(s.Redigo(s.Addr), RedigoNil),
		"rueidis":       over[rueidis.Client](s.Rueidis(s.Addr), RueidisNil),
		"redsync":       over[*redsync.Redsync](redsync.New(goredis.NewPool(rdb)), RedsyncKept),
		"bsm/redislock": over[*redislock.Client](redislock.New(rdb), BsmKept),
	} {
		t.Run(name, func(t *testing.T) {
			paid := 0
			s.MustTake(leaseKey(name), "another")
			if err := run(t.Context(), name, count(&paid)); paid != 0 || !errors.Is(err, errBusy) {
				t.Fatalf("paid %d times, %v; want none and %v", paid, err, errBusy)
			}
			s.Lapse(leaseKey(name))
			if err := run(t.Context(), name, count(&paid)); paid != 1 || err != nil {
				t.Fatalf("paid %d times, %v; want once", paid, err)
			}
			s.MustTake(leaseKey(name), "another")
		})
	}
	for _, currency := range []string{"EUR", "CHF"} {
		if err := Default(t.Context(), rdb, currency); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Holder("invoice:currency"); got != "EUR" {
		t.Fatalf("currency = %s, want the first one", got)
	}
}
