package unlockctx

import (
	"context"
	"errors"
	"testing"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

// freeDetached runs whatever became of ctx, and no longer than unlockTimeout.
func freeDetached(ctx context.Context, rdb redis.Scripter, shard, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	return freeLease(ctx, rdb, shard, token)
}

// RedisDetached makes the release's context in the cleanup.
func RedisDetached(ctx context.Context, rdb *redis.Client, shard string, work Import) (err error) {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	defer func() {
		freeCtx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
		defer cancel()
		n, freeErr := freeScript.Run(freeCtx, rdb, []string{leaseKey(shard)}, token).Int()
		if freeErr == nil && n == 0 {
			freeErr = ErrNotHeld
		}
		err = errors.Join(err, freeErr)
	}()
	return work(ctx)
}

// RedisGroupedDetached gives the context to a helper that detaches it.
func RedisGroupedDetached(ctx context.Context, rdb redis.UniversalClient, shard string, work Import) (err error) {
	group, groupCtx := errgroup.WithContext(ctx)
	token, err := takeLease(groupCtx, rdb, shard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, freeDetached(groupCtx, rdb, shard, token)) }()
	group.Go(func() error { return work(groupCtx) })
	return group.Wait()
}

// RedisClaimDetached returns a release with a context of its own.
func RedisClaimDetached(ctx context.Context, rdb *redis.Client, shard string) (release func() error, err error) {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return nil, err
	}
	return func() error { return freeDetached(ctx, rdb, shard, token) }, nil
}

// RedisFollowDetached frees with a context that the end of ctx does not reach.
func RedisFollowDetached(ctx context.Context, rdb *redis.Client, shard string, started func()) error {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	started()
	<-ctx.Done()
	return freeLease(context.WithoutCancel(ctx), rdb, shard, token)
}

// RedisForTestDetached outlives the test's context.
func RedisForTestDetached(tb testing.TB, rdb *redis.Client, shard string) {
	tb.Helper()
	token, err := takeLease(tb.Context(), rdb, shard)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := freeLease(context.Background(), rdb, shard, token); err != nil {
			tb.Error(err)
		}
	})
}

// RedsyncDetached unlocks with no context at all, which redsync makes the background's.
func RedsyncDetached(ctx context.Context, rs *redsync.Redsync, shard string, work Import) (err error) {
	mutex := rs.NewMutex(leaseKey(shard), redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer func() {
		_, unlockErr := mutex.Unlock()
		err = errors.Join(err, unlockErr)
	}()
	return work(ctx)
}

// BsmDetached detaches the release.
func BsmDetached(ctx context.Context, locks *redislock.Client, shard string, work Import) (err error) {
	held, err := locks.Obtain(ctx, leaseKey(shard), leaseTTL, nil)
	if err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer func() { err = errors.Join(err, held.Release(context.WithoutCancel(ctx))) }()
	return work(ctx)
}

// EtcdDetached unlocks with a context of its own.
func EtcdDetached(ctx context.Context, session *concurrency.Session, shard string, work Import) (err error) {
	mutex := concurrency.NewMutex(session, "/shards/"+shard)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		unlockCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		err = errors.Join(err, mutex.Unlock(unlockCtx))
	}()
	return work(ctx)
}

// StraightOn frees in the ordinary flow, which no rule is about.
func StraightOn(ctx context.Context, rdb *redis.Client, shard string, work Import) error {
	token, err := takeLease(ctx, rdb, shard)
	if err != nil {
		return err
	}
	workErr := work(ctx)
	return errors.Join(workErr, freeLease(ctx, rdb, shard, token))
}
