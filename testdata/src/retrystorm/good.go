package retrystorm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// leastPause is the shortest wait of all that follows.
const leastPause = 10 * time.Millisecond

// Jittered waits at random below a bound that grows.
func Jittered(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	token := uuid.NewString()
	for bound := 4 * leastPause; ; bound = min(2*bound, time.Second) {
		ok, err := rdb.SetNX(ctx, lockKey(forklift), token, leaseTTL).Result()
		if err != nil {
			return err
		}
		if ok {
			return errors.Join(drive(ctx), free(ctx, rdb, forklift, token))
		}
		select {
		case <-time.After(leastPause + rand.N(bound)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// LockWaiting is Lock with a wait that is its own.
func (f *Forklift) LockWaiting(ctx context.Context) error {
	for {
		ok, err := f.TryLock(ctx)
		if ok || err != nil {
			return err
		}
		if err := f.rest(ctx); err != nil {
			return err
		}
	}
}

func (f *Forklift) rest(ctx context.Context) error {
	timer := time.NewTimer(leastPause + time.Duration(rand.Int64N(int64(pause))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff takes the waits from its caller.
func Backoff(ctx context.Context, rdb *goredis.Client, forklift string, next func(try int) time.Duration, drive Drive) error {
	f := &Forklift{rdb: rdb, name: forklift}
	for try := 0; ; try++ {
		ok, err := f.TryLock(ctx)
		if err != nil {
			return err
		}
		if ok {
			return errors.Join(drive(ctx), f.Unlock(ctx))
		}
		time.Sleep(next(try))
	}
}

// ServerWaits lets a list tell of the release, and so blocks between two tries.
func ServerWaits(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	f := &Forklift{rdb: rdb, name: forklift}
	for {
		ok, err := f.TryLock(ctx)
		if err != nil {
			return err
		}
		if ok {
			err := errors.Join(drive(ctx), f.Unlock(ctx))
			return errors.Join(err, rdb.LPush(context.WithoutCancel(ctx), "forklift:freed:"+forklift, 1).Err())
		}
		if err := rdb.BLPop(ctx, time.Second, "forklift:freed:"+forklift).Err(); err != nil && err != goredis.Nil {
			return err
		}
	}
}

// Whichever takes the first forklift that is free: a loop over keys is no retry.
func Whichever(ctx context.Context, rdb *goredis.Client, forklifts []string, drive Drive) (err error) {
	for _, name := range forklifts {
		f := &Forklift{rdb: rdb, name: name}
		ok, err := f.TryLock(ctx)
		if err != nil {
			return err
		}
		if ok {
			return errors.Join(drive(ctx), f.Unlock(ctx))
		}
	}
	return errNotHeld
}

// Redelivered takes one message after the other: each has a lock of its own.
func Redelivered(conn redis.Conn, messages <-chan string, handle func(string) error) error {
	for id := range messages {
		token := uuid.NewString()
		_, err := redis.String(conn.Do("SET", "message:lock:"+id, token, "NX", "PX", leaseTTL.Milliseconds()))
		if errors.Is(err, redis.ErrNil) {
			continue
		}
		if err != nil {
			return err
		}
		if err := handle(id); err != nil {
			return err
		}
	}
	return nil
}

// RedsyncWaits leaves the waits to the library, which has random ones.
func RedsyncWaits(ctx context.Context, rs *redsync.Redsync, forklift string, drive Drive) error {
	mutex := rs.NewMutex(lockKey(forklift), redsync.WithExpiry(leaseTTL), redsync.WithTries(1000))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	driveErr := drive(ctx)
	_, err := mutex.UnlockContext(context.WithoutCancel(ctx))
	return errors.Join(driveErr, err)
}

// ObtainWaits gives the library a strategy.
func ObtainWaits(ctx context.Context, locks *redislock.Client, forklift string, drive Drive) error {
	held, err := locks.Obtain(ctx, lockKey(forklift), leaseTTL, &redislock.Options{
		RetryStrategy: redislock.ExponentialBackoff(leastPause, time.Second),
	})
	if err != nil {
		return err
	}
	return errors.Join(drive(ctx), held.Release(context.WithoutCancel(ctx)))
}

// EtcdWaits is told of the release.
func EtcdWaits(ctx context.Context, session *concurrency.Session, forklift string, drive Drive) error {
	mutex := concurrency.NewMutex(session, "/forklifts/"+forklift)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	return errors.Join(drive(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}
