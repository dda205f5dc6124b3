package acquireresult

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

// RedisRead goes on only with a true.
func RedisRead(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, leaseKey(invoice), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// RedisVal reads the boolean and not the error: with one it is false.
func RedisVal(ctx context.Context, rdb redis.UniversalClient, invoice string, pay Pay) error {
	token := uuid.NewString()
	if !rdb.SetNX(ctx, leaseKey(invoice), token, leaseTTL).Val() {
		return errBusy
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// RedisArgs reads the error of a command that has one: SET with NX answers nil when the key is taken.
func RedisArgs(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	err := rdb.SetArgs(ctx, leaseKey(invoice), token, redis.SetArgs{Mode: "NX", TTL: leaseTTL}).Err()
	if errors.Is(err, redis.Nil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// RedisKeptAnswer looks at both results of the method.
func RedisKeptAnswer(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	l := &Lease{rdb: rdb, invoice: invoice}
	if ok, err := l.Try(ctx); err != nil {
		return err
	} else if !ok {
		return errBusy
	}
	return errors.Join(pay(ctx), l.Free(ctx))
}

// RedisKeptError looks at the error in which the answer is.
func RedisKeptError(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	if err := mustTake(ctx, rdb, invoice, token); err != nil {
		return err
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// RedigoString makes the nil reply an error.
func RedigoString(conn redigo.Conn, invoice string, pay func() error) error {
	token := uuid.NewString()
	_, err := redigo.String(conn.Do("SET", leaseKey(invoice), token, "NX", "PX", leaseTTL.Milliseconds()))
	if errors.Is(err, redigo.ErrNil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	payErr := pay()
	n, err := redigo.Int(redigoFree.Do(conn, leaseKey(invoice), token))
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(payErr, err)
}

// RedigoNil looks at the reply itself.
func RedigoNil(conn redigo.Conn, invoice string, pay func() error) error {
	token := uuid.NewString()
	reply, err := conn.Do("SET", leaseKey(invoice), token, "NX", "PX", leaseTTL.Milliseconds())
	if err != nil {
		return err
	}
	if reply == nil {
		return errBusy
	}
	payErr := pay()
	n, err := redigo.Int(redigoFree.Do(conn, leaseKey(invoice), token))
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(payErr, err)
}

// RueidisNil reads the error of SET with NX, which is rueidis.Nil when the key is taken.
func RueidisNil(ctx context.Context, client rueidis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	err := client.Do(ctx, client.B().Set().Key(leaseKey(invoice)).Value(token).Nx().Px(leaseTTL).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return errBusy
	}
	if err != nil {
		return err
	}
	payErr := pay(ctx)
	n, err := rueidisFree.Exec(context.WithoutCancel(ctx), client, []string{leaseKey(invoice)}, []string{token}).AsInt64()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(payErr, err)
}

// RedsyncKept goes on only without an error.
func RedsyncKept(ctx context.Context, rs *redsync.Redsync, invoice string, pay Pay) error {
	mutex := rs.NewMutex(leaseKey(invoice), redsync.WithExpiry(leaseTTL), redsync.WithTries(1))
	if err := mutex.LockContext(ctx); err != nil {
		return errors.Join(errBusy, err)
	}
	payErr := pay(ctx)
	_, err := mutex.UnlockContext(context.WithoutCancel(ctx))
	return errors.Join(payErr, err)
}

// BsmKept goes on only without an error.
func BsmKept(ctx context.Context, locks *redislock.Client, invoice string, pay Pay) error {
	held, err := locks.Obtain(ctx, leaseKey(invoice), leaseTTL, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return errBusy
	}
	if err != nil {
		return err
	}
	return errors.Join(pay(ctx), held.Release(context.WithoutCancel(ctx)))
}

// Default sets what has no value yet. It is no lock: either value will do.
func Default(ctx context.Context, rdb *redis.Client, currency string) error {
	return rdb.SetNX(ctx, "invoice:currency", currency, 0).Err()
}
