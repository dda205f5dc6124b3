package unlockctx

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

// A lease that is not given back ends by itself, after its TTL in Redis and with its session in etcd.
// Until then everybody waits for nobody.

const leaseTTL = time.Hour

var freeScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

func leaseKey(shard string) string { return "shard:lock:" + shard }

func takeLease(ctx context.Context, rdb redis.Cmdable, shard string) (token string, err error) {
	token = uuid.NewString()
	ok, err := rdb.SetNX(ctx, leaseKey(shard), token, leaseTTL).Result()
	if err == nil && !ok {
		err = ErrBusy
	}
	return token, err
}

// freeLease runs with whatever context its caller gives it.
func freeLease(ctx context.Context, rdb redis.Scripter, shard, token string) error {
	n, err := freeScript.Run(ctx, rdb, []string{leaseKey(shard)}, token).Int()
	if err == nil && n == 0 {
		err = ErrNotHeld
	}
	return err
}

// Redis frees in a deferred closure with the caller's context.
func Redis(ctx context.Context, rdb *redis.Client, shard string, work Import) (err error) {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	defer func() {
		n, freeErr := freeScript.Run(ctx, rdb, []string{leaseKey(shard)}, token).Int() // want `the script .*\bctx\b`
		if freeErr == nil && n == 0 {
			freeErr = ErrNotHeld
		}
		err = errors.Join(err, freeErr)
	}()
	return work(ctx)
}

// RedisHelper passes the context to a helper as the call is deferred.
func RedisHelper(ctx context.Context, rdb *redis.Client, shard string, work Import) error {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	defer freeLease(ctx, rdb, shard, token) // want `the script .*\bctx\b`
	return work(ctx)
}

// RedisGrouped frees with the group's context, which Wait has always cancelled by then.
func RedisGrouped(ctx context.Context, rdb redis.UniversalClient, shard string, work Import) error {
	group, groupCtx := errgroup.WithContext(ctx)
	token, err := takeLease(groupCtx, rdb, shard)
	if err != nil {
		return err
	}
	defer func() {
		_ = freeLease(groupCtx, rdb, shard, token) // want `the script .*\bgroupCtx\b`
	}()
	group.Go(func() error { return work(groupCtx) })
	return group.Wait()
}

// RedisClaim returns a release that keeps the context of the claim.
func RedisClaim(ctx context.Context, rdb *redis.Client, shard string) (release func() error, err error) {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return nil, err
	}
	return func() error {
		n, err := freeScript.Run(ctx, rdb, []string{leaseKey(shard)}, token).Int() // want `the script .*\bctx\b`
		if err == nil && n == 0 {
			err = ErrNotHeld
		}
		return err
	}, nil
}

// RedisFollow imports until ctx is done, and frees with that same ctx.
func RedisFollow(ctx context.Context, rdb *redis.Client, shard string, started func()) error {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	started()
	<-ctx.Done()
	return freeLease(ctx, rdb, shard, token) // want `the script .*\bctx\b`
}

// RedisForTest frees in a cleanup with the test's context, which is cancelled just before.
func RedisForTest(tb testing.TB, rdb *redis.Client, shard string) {
	tb.Helper()
	token, err := takeLease(tb.Context(), rdb, shard)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = freeLease(tb.Context(), rdb, shard, token) // want `the script .*runs in a cleanup`
	})
}

// Redsync unlocks with the caller's context.
func Redsync(ctx context.Context, rs *redsync.Redsync, shard string, work Import) (err error) {
	mutex := rs.NewMutex(leaseKey(shard), redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer func() {
		_, unlockErr := mutex.UnlockContext(ctx) // want `Unlock.*\bctx\b`
		err = errors.Join(err, unlockErr)
	}()
	return work(ctx)
}

// Bsm releases with a context that it cancels before, each time: defers run in reverse.
func Bsm(ctx context.Context, locks *redislock.Client, shard string, work Import) (err error) {
	workCtx, cancel := context.WithTimeout(ctx, time.Minute)
	held, err := locks.Obtain(workCtx, leaseKey(shard), leaseTTL, nil)
	if err != nil {
		cancel()
		return errors.Join(ErrBusy, err)
	}
	defer func() {
		err = errors.Join(err, held.Release(workCtx)) // want `Release.*\bworkCtx\b`
	}()
	defer cancel()
	return work(workCtx)
}

// Etcd unlocks with the caller's context, on a session that goes on living.
func Etcd(ctx context.Context, session *concurrency.Session, shard string, work Import) (err error) {
	mutex := concurrency.NewMutex(session, "/shards/"+shard)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, mutex.Unlock(ctx)) // want `Unlock.*\bctx\b`
	}()
	return work(ctx)
}
