// Package retrystorm moves pallets with forklifts. A driver waits until the forklift is free.
package retrystorm

import (
	"context"
	"errors"
	"log"
	"runtime"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const leaseTTL = time.Minute

var errNotHeld = errors.New("forklift was not locked")

var freeScript = goredis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

func lockKey(forklift string) string { return "forklift:lock:" + forklift }

// Drive is the work under the lock.
type Drive func(ctx context.Context) error

func free(ctx context.Context, rdb goredis.Scripter, forklift, token string) error {
	n, err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(forklift)}, token).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

// Spin asks again as soon as it was refused.
func Spin(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	token := uuid.NewString()
	for {
		ok, err := rdb.SetNX(ctx, lockKey(forklift), token, leaseTTL).Result() // want `tried again without a wait`
		if err != nil {
			return err
		}
		if ok {
			break
		}
	}
	return errors.Join(drive(ctx), free(ctx, rdb, forklift, token))
}

// Forklift is a lock with a token of its own for each Lock.
type Forklift struct {
	rdb   goredis.UniversalClient
	name  string
	token string
}

// TryLock asks once.
func (f *Forklift) TryLock(ctx context.Context) (bool, error) {
	token := uuid.NewString()
	ok, err := f.rdb.SetNX(ctx, lockKey(f.name), token, leaseTTL).Result()
	if ok {
		f.token = token
	}
	return ok, err
}

// Unlock gives the lock back.
func (f *Forklift) Unlock(ctx context.Context) error { return free(ctx, f.rdb, f.name, f.token) }

// Lock looks whether it should stop, and that is all it does between two tries.
func (f *Forklift) Lock(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		ok, err := f.TryLock(ctx) // want `tried again without a wait`
		if ok || err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// WaitsOnErrors waits after an error, which is rare, and not after a refusal.
func WaitsOnErrors(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	token := uuid.NewString()
	for ctx.Err() == nil {
		ok, err := rdb.SetNX(ctx, lockKey(forklift), token, leaseTTL).Result() // want `tried again without a wait`
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		if !ok {
			continue
		}
		return errors.Join(drive(ctx), free(ctx, rdb, forklift, token))
	}
	return ctx.Err()
}

// Counted gives up after many tries, which are over in a moment.
func Counted(conn redis.Conn, forklift string, tries int) (token string, err error) {
	token = uuid.NewString()
	for range tries {
		_, err = redis.String(conn.Do("SET", lockKey(forklift), token, "NX", "PX", leaseTTL.Milliseconds())) // want `tried again without a wait`
		if err == nil {
			return token, nil
		}
		if !errors.Is(err, redis.ErrNil) {
			return "", err
		}
	}
	return "", err
}

// Redsync switches the library's own waits off, and adds none.
func Redsync(ctx context.Context, rs *redsync.Redsync, forklift string, drive Drive) error {
	mutex := rs.NewMutex(lockKey(forklift), redsync.WithExpiry(leaseTTL))
	for mutex.TryLockContext(ctx) != nil { // want `tried again without a wait`
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	driveErr := drive(ctx)
	_, err := mutex.UnlockContext(context.WithoutCancel(ctx))
	return errors.Join(driveErr, err)
}

// Obtain asks a library that does not retry by itself.
func Obtain(ctx context.Context, locks *redislock.Client, forklift string, drive Drive) error {
	for {
		held, err := locks.Obtain(ctx, lockKey(forklift), leaseTTL, nil) // want `tried again without a wait`
		if errors.Is(err, redislock.ErrNotObtained) {
			continue
		}
		if err != nil {
			return err
		}
		return errors.Join(drive(ctx), held.Release(context.WithoutCancel(ctx)))
	}
}

// Etcd tries where Lock would wait.
func Etcd(ctx context.Context, session *concurrency.Session, forklift string, drive Drive) error {
	mutex := concurrency.NewMutex(session, "/forklifts/"+forklift)
	for {
		err := mutex.TryLock(ctx) // want `tried again without a wait`
		if err == nil {
			break
		}
		if !errors.Is(err, concurrency.ErrLocked) {
			return err
		}
	}
	return errors.Join(drive(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}

const pause = 20 * time.Millisecond

// FixedSleep waits as long as everybody else.
func FixedSleep(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	token := uuid.NewString()
	for {
		ok, err := rdb.SetNX(ctx, lockKey(forklift), token, leaseTTL).Result() // want `tried again after a fixed wait`
		if err != nil {
			return err
		}
		if ok {
			break
		}
		time.Sleep(pause)
	}
	return errors.Join(drive(ctx), free(ctx, rdb, forklift, token))
}

// FixedTicks does the same with a ticker.
func FixedTicks(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
	f := &Forklift{rdb: rdb, name: forklift}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		ok, err := f.TryLock(ctx) // want `tried again after a fixed wait`
		if err != nil {
			return err
		}
		if ok {
			return errors.Join(drive(ctx), f.Unlock(ctx))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
