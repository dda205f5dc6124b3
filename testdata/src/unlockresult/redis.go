package unlockresult

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// An account in Redis is locked by a lease. Work that outlives the lease settles an account that
// another settles at the same time, and the answer of the release is what tells.

const leaseTTL = time.Minute

// Work is what happens under a lease.
type Work func(ctx context.Context) error

const freeText = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`

var freeScript = redis.NewScript(freeText)

func leaseKey(account string) string { return "account:lock:" + account }

func takeLease(ctx context.Context, rdb redis.Cmdable, account string) (token string, err error) {
	token = uuid.NewString()
	ok, err := rdb.SetNX(ctx, leaseKey(account), token, leaseTTL).Result()
	if err == nil && !ok {
		err = ErrBusy
	}
	return token, err
}

// RedisErr looks at the script's error, which is nil when the account was another's.
func RedisErr(ctx context.Context, rdb *redis.Client, account string, work Work) error {
	token, err := takeLease(ctx, rdb, account)
	if err != nil {
		return err
	}
	workErr := work(ctx)
	if err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(account)}, token).Err(); err != nil { // want `answer of the script`
		return err
	}
	return workErr
}

// RedisResult drops the 0 or 1 by name. It waits for redis.Nil, which this script never answers.
func RedisResult(ctx context.Context, rdb redis.UniversalClient, account string, work Work) error {
	token, err := takeLease(ctx, rdb, account)
	if err != nil {
		return err
	}
	workErr := work(ctx)
	_, err = rdb.Eval(context.WithoutCancel(ctx), freeText, []string{leaseKey(account)}, token).Result() // want `answer of the script`
	if errors.Is(err, redis.Nil) {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// RedisDeferred looks at nothing.
func RedisDeferred(ctx context.Context, rdb *redis.Client, account string, work Work) error {
	token, err := takeLease(ctx, rdb, account)
	if err != nil {
		return err
	}
	defer freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(account)}, token) // want `answer of the script`
	return work(ctx)
}

// Lease is a lock with two methods; Free hands on what the server said.
type Lease struct {
	rdb            redis.UniversalClient
	account, token string
}

// Take takes the lease.
func (l *Lease) Take(ctx context.Context) (err error) {
	l.token, err = takeLease(ctx, l.rdb, l.account)
	return err
}

// Free gives it back and says whether it was there.
func (l *Lease) Free(ctx context.Context) (bool, error) {
	n, err := freeScript.Run(ctx, l.rdb, []string{leaseKey(l.account)}, l.token).Int64()
	return n == 1, err
}

// RedisMethods drops what Free says.
func RedisMethods(ctx context.Context, rdb *redis.Client, account string, work Work) error {
	l := &Lease{rdb: rdb, account: account}
	if err := l.Take(ctx); err != nil {
		return err
	}
	workErr := work(ctx)
	if _, err := l.Free(context.WithoutCancel(ctx)); err != nil { // want `answer of the script`
		return err
	}
	return workErr
}

// Redigo drops the reply.
func Redigo(conn redigo.Conn, account string, work func() error) error {
	token := uuid.NewString()
	if _, err := redigo.String(conn.Do("SET", leaseKey(account), token, "NX", "PX", leaseTTL.Milliseconds())); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work()
	if _, err := conn.Do("EVAL", freeText, 1, leaseKey(account), token); err != nil { // want `answer of the script`
		return err
	}
	return workErr
}

var rueidisFree = rueidis.NewLuaScript(freeText)

// Rueidis looks at the error alone.
func Rueidis(ctx context.Context, client rueidis.Client, account string, work Work) error {
	token := uuid.NewString()
	if err := client.Do(ctx, client.B().Set().Key(leaseKey(account)).Value(token).Nx().Px(leaseTTL).Build()).Error(); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work(ctx)
	if err := rueidisFree.Exec(context.WithoutCancel(ctx), client, []string{leaseKey(account)}, []string{token}).Error(); err != nil { // want `answer of the script`
		return err
	}
	return workErr
}

// Redsync drops both of what Unlock says.
func Redsync(ctx context.Context, rs *redsync.Redsync, account string, work Work) error {
	mutex := rs.NewMutex(leaseKey(account), redsync.WithExpiry(leaseTTL))
	if err := mutex.TryLockContext(ctx); err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx)) // want `answer of Unlock`
	return work(ctx)
}

// RedsyncBlank does the same in so many words.
func RedsyncBlank(ctx context.Context, rs *redsync.Redsync, account string, work Work) error {
	mutex := rs.NewMutex(leaseKey(account), redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil {
		return errors.Join(ErrBusy, err)
	}
	workErr := work(ctx)
	_, _ = mutex.Unlock() // want `answer of Unlock`
	return workErr
}

// Bsm drops the error that says ErrLockNotHeld.
func Bsm(ctx context.Context, locks *redislock.Client, account string, work Work) error {
	held, err := locks.Obtain(ctx, leaseKey(account), leaseTTL, nil)
	if err != nil {
		return errors.Join(ErrBusy, err)
	}
	defer held.Release(context.WithoutCancel(ctx)) // want `answer of Release`
	return work(ctx)
}
