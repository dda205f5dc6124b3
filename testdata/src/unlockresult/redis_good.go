package unlockresult

import (
	"context"
	"errors"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// RedisChecked takes 0 for the loss that it is.
func RedisChecked(ctx context.Context, rdb *redis.Client, account string, work Work) error {
	token, err := takeLease(ctx, rdb, account)
	if err != nil {
		return err
	}
	workErr := work(ctx)
	n, err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(account)}, token).Int()
	if err == nil && n == 0 {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// nilScript has no branch for another's key: its answer is nil then, which go-redis makes an error.
var nilScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end`)

// RedisNil reads the error of a script that has one.
func RedisNil(ctx context.Context, rdb *redis.Client, account string, work Work) error {
	token, err := takeLease(ctx, rdb, account)
	if err != nil {
		return err
	}
	workErr := work(ctx)
	err = nilScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(account)}, token).Err()
	if errors.Is(err, redis.Nil) {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// RedisMethodsChecked looks at what Free says.
func RedisMethodsChecked(ctx context.Context, rdb *redis.Client, account string, work Work) (err error) {
	l := &Lease{rdb: rdb, account: account}
	if err := l.Take(ctx); err != nil {
		return err
	}
	defer func() {
		freed, freeErr := l.Free(context.WithoutCancel(ctx))
		if freeErr == nil && !freed {
			freeErr = ErrLost
		}
		err = errors.Join(err, freeErr)
	}()
	return work(ctx)
}

// RedigoChecked reads the reply as a number.
func RedigoChecked(conn redigo.Conn, account string, work func() error) error {
	token := uuid.NewString()
	if _, err := redigo.String(conn.Do("SET", leaseKey(account), token, "NX", "PX", leaseTTL.Milliseconds())); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work()
	n, err := redigo.Int(conn.Do("EVAL", freeText, 1, leaseKey(account), token))
	if err == nil && n == 0 {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// RueidisChecked reads it as a number.
func RueidisChecked(ctx context.Context, client rueidis.Client, account string, work Work) error {
	token := uuid.NewString()
	if err := client.Do(ctx, client.B().Set().Key(leaseKey(account)).Value(token).Nx().Px(leaseTTL).Build()).Error(); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work(ctx)
	n, err := rueidisFree.Exec(context.WithoutCancel(ctx), client, []string{leaseKey(account)}, []string{token}).AsInt64()
	if err == nil && n != 1 {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// RedsyncChecked reads the error alone: there is one whenever the boolean is false.
func RedsyncChecked(ctx context.Context, rs *redsync.Redsync, account string, work Work) error {
	mutex := rs.NewMutex(leaseKey(account), redsync.WithExpiry(leaseTTL))
	if err := mutex.TryLockContext(ctx); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work(ctx)
	if _, err := mutex.UnlockContext(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(workErr, ErrLost, err)
	}
	return workErr
}

// BsmChecked reads the error.
func BsmChecked(ctx context.Context, locks *redislock.Client, account string, work Work) (err error) {
	held, err := locks.Obtain(ctx, leaseKey(account), leaseTTL, nil)
	if err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer func() {
		releaseErr := held.Release(context.WithoutCancel(ctx))
		if errors.Is(releaseErr, redislock.ErrLockNotHeld) {
			releaseErr = ErrLost
		}
		err = errors.Join(err, releaseErr)
	}()
	return work(ctx)
}

// Forget deletes an account's cache, which is no lock: nobody needs the count.
func Forget(ctx context.Context, rdb *redis.Client, account string) error {
	return rdb.Del(ctx, "account:cache:"+account).Err()
}
