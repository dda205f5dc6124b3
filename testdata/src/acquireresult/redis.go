package acquireresult

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const leaseTTL = time.Minute

var freeScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

func leaseKey(invoice string) string { return "invoice:lock:" + invoice }

func freeLease(ctx context.Context, rdb redis.Scripter, invoice, token string) error {
	n, err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{leaseKey(invoice)}, token).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

// RedisErrorOnly takes the absence of an error for the lock. SETNX has none when the key is taken.
func RedisErrorOnly(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	if err := rdb.SetNX(ctx, leaseKey(invoice), token, leaseTTL).Err(); err != nil { // want `answer of SET(NX)?`
		return err
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// RedisBlank drops the boolean by name.
func RedisBlank(ctx context.Context, rdb redis.UniversalClient, invoice string, pay Pay) error {
	token := uuid.NewString()
	_, err := rdb.SetNX(ctx, leaseKey(invoice), token, leaseTTL).Result() // want `answer of SET(NX)?`
	if err != nil {
		return err
	}
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

// Lease is a lock with two methods.
type Lease struct {
	rdb            redis.UniversalClient
	invoice, token string
}

// Try says whether it took the lock.
func (l *Lease) Try(ctx context.Context) (bool, error) {
	l.token = uuid.NewString()
	return l.rdb.SetNX(ctx, leaseKey(l.invoice), l.token, leaseTTL).Result()
}

// Free gives the lock back.
func (l *Lease) Free(ctx context.Context) error { return freeLease(ctx, l.rdb, l.invoice, l.token) }

// RedisDroppedAnswer looks only at the method's error.
func RedisDroppedAnswer(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	l := &Lease{rdb: rdb, invoice: invoice}
	if _, err := l.Try(ctx); err != nil { // want `answer of SET(NX)?`
		return err
	}
	return errors.Join(pay(ctx), l.Free(ctx))
}

// mustTake turns a refusal into an error.
func mustTake(ctx context.Context, rdb redis.Cmdable, invoice, token string) error {
	ok, err := rdb.SetNX(ctx, leaseKey(invoice), token, leaseTTL).Result()
	if err == nil && !ok {
		err = errBusy
	}
	return err
}

// RedisDroppedError drops the error in which the answer is.
func RedisDroppedError(ctx context.Context, rdb *redis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	mustTake(ctx, rdb, invoice, token) // want `answer of SET(NX)?`
	return errors.Join(pay(ctx), freeLease(ctx, rdb, invoice, token))
}

var redigoFree = redigo.NewScript(1, `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

// RedigoErrorOnly takes the absence of an error for the lock. redigo's reply is nil when it is taken.
func RedigoErrorOnly(conn redigo.Conn, invoice string, pay func() error) error {
	token := uuid.NewString()
	if _, err := conn.Do("SET", leaseKey(invoice), token, "NX", "PX", leaseTTL.Milliseconds()); err != nil { // want `answer of SET`
		return err
	}
	payErr := pay()
	n, err := redigo.Int(redigoFree.Do(conn, leaseKey(invoice), token))
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(payErr, err)
}

var rueidisFree = rueidis.NewLuaScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

// RueidisErrorOnly asks with SETNX, whose 0 is no error.
func RueidisErrorOnly(ctx context.Context, client rueidis.Client, invoice string, pay Pay) error {
	token := uuid.NewString()
	if err := client.Do(ctx, client.B().Setnx().Key(leaseKey(invoice)).Value(token).Build()).Error(); err != nil { // want `answer of SETNX`
		return err
	}
	if err := client.Do(ctx, client.B().Pexpire().Key(leaseKey(invoice)).Milliseconds(leaseTTL.Milliseconds()).Build()).Error(); err != nil {
		return err
	}
	payErr := pay(ctx)
	n, err := rueidisFree.Exec(context.WithoutCancel(ctx), client, []string{leaseKey(invoice)}, []string{token}).AsInt64()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return errors.Join(payErr, err)
}

// RedsyncDropped drops the one thing that Lock says.
func RedsyncDropped(ctx context.Context, rs *redsync.Redsync, invoice string, pay Pay) error {
	mutex := rs.NewMutex(leaseKey(invoice), redsync.WithExpiry(leaseTTL), redsync.WithTries(1))
	mutex.LockContext(ctx) // want `answer of Lock`
	payErr := pay(ctx)
	if _, err := mutex.UnlockContext(context.WithoutCancel(ctx)); err != nil {
		log.Print(err)
	}
	return payErr
}

// BsmDropped pays with a lock that may be nil.
func BsmDropped(ctx context.Context, locks *redislock.Client, invoice string, pay Pay) error {
	held, _ := locks.Obtain(ctx, leaseKey(invoice), leaseTTL, nil) // want `answer of Obtain`
	payErr := pay(ctx)
	if err := held.Release(context.WithoutCancel(ctx)); err != nil {
		log.Print(err)
	}
	return payErr
}
