package earlyunlock

import (
	"context"
	"errors"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// RedisAfterCheck defers the DEL once there is a lock. That the DEL does not look whose it is, is
// another mistake.
func RedisAfterCheck(ctx context.Context, rdb *redis.Client, printer string, run Print) error {
	got, err := rdb.SetNX(ctx, leaseKey(printer), uuid.NewString(), leaseTTL).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer rdb.Del(context.WithoutCancel(ctx), leaseKey(printer))
	return run(ctx)
}

// RedisGuarded defers early, and does nothing without the lock.
func RedisGuarded(ctx context.Context, rdb *redis.Client, printer string, run Print) (err error) {
	p := &Printer{rdb: rdb, name: printer}
	got := false
	defer func() {
		if got {
			err = errors.Join(err, p.Free(ctx))
		}
	}()
	if got, err = p.Take(ctx); err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return run(ctx)
}

var freeScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

// RedisCompared defers early a release that frees nobody else's lock.
func RedisCompared(ctx context.Context, rdb *redis.Client, printer string, run Print) (err error) {
	token := uuid.NewString()
	got, err := rdb.SetNX(ctx, leaseKey(printer), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	defer func() {
		n, freeErr := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(printer)}, token).Int()
		if freeErr == nil && n == 0 && got {
			freeErr = errNotHeld
		}
		err = errors.Join(err, freeErr)
	}()
	if !got {
		return errBusy
	}
	return run(ctx)
}

// RedisUncertain frees after an error, with which the key may well be ours: the reply was lost.
func RedisUncertain(ctx context.Context, rdb *redis.Client, printer string, run Print) error {
	token := uuid.NewString()
	got, err := rdb.SetNX(ctx, leaseKey(printer), token, leaseTTL).Result()
	if err != nil || !got {
		freeErr := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(printer)}, token).Err()
		return errors.Join(errBusy, err, freeErr)
	}
	runErr := run(ctx)
	n, err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(printer)}, token).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(runErr, err)
}

// RedigoAfterCheck looks at the reply first.
func RedigoAfterCheck(conn redigo.Conn, printer string, run func() error) error {
	reply, err := conn.Do("SET", leaseKey(printer), uuid.NewString(), "NX", "PX", leaseTTL.Milliseconds())
	if err != nil {
		return err
	}
	if reply == nil {
		return errBusy
	}
	defer conn.Do("DEL", leaseKey(printer))
	return run()
}

// Redsync defers early a release that is a no-op for the loser.
func Redsync(ctx context.Context, rs *redsync.Redsync, printer string, run Print) error {
	mutex := rs.NewMutex(leaseKey(printer), redsync.WithExpiry(leaseTTL))
	err := mutex.TryLockContext(ctx)
	defer func() {
		if ok, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx)); !ok && err == nil {
			err = unlockErr
		}
	}()
	if err != nil {
		return errors.Join(errBusy, err)
	}
	return run(ctx)
}

// Bsm has nothing to release when it has no lock: Release of nil says so.
func Bsm(ctx context.Context, locks *redislock.Client, printer string, run Print) (err error) {
	held, err := locks.Obtain(ctx, leaseKey(printer), leaseTTL, nil)
	defer func() {
		if releaseErr := held.Release(context.WithoutCancel(ctx)); err == nil {
			err = releaseErr
		}
	}()
	if err != nil {
		return errors.Join(errBusy, err)
	}
	return run(ctx)
}

// Etcd unlocks a mutex that has no key then, which etcd's client notices by itself.
func Etcd(ctx context.Context, session *concurrency.Session, printer string, run Print) (err error) {
	mutex := concurrency.NewMutex(session, "/printers/"+printer)
	lockErr := mutex.TryLock(ctx)
	defer func() {
		unlockErr := mutex.Unlock(context.WithoutCancel(ctx))
		if lockErr == nil {
			err = errors.Join(err, unlockErr)
		}
	}()
	if lockErr != nil {
		return errors.Join(errBusy, lockErr)
	}
	return run(ctx)
}
