package earlyunlock

import (
	"context"
	"errors"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const leaseTTL = time.Minute

func leaseKey(printer string) string { return "printer:lock:" + printer }

// RedisDeferred defers the DEL before it looks at the answer.
func RedisDeferred(ctx context.Context, rdb *redis.Client, printer string, run Print) error {
	got, err := rdb.SetNX(ctx, leaseKey(printer), uuid.NewString(), leaseTTL).Result()
	if err != nil {
		return err
	}
	defer rdb.Del(context.WithoutCancel(ctx), leaseKey(printer)) // want `DEL.* said no`
	if !got {
		return errBusy
	}
	return run(ctx)
}

// RedisRefused cleans up where there is nothing to clean up.
func RedisRefused(ctx context.Context, rdb redis.UniversalClient, printer string, run Print) error {
	key := leaseKey(printer)
	got, err := rdb.SetNX(ctx, key, uuid.NewString(), leaseTTL).Result()
	if err != nil || !got {
		rdb.Unlink(context.WithoutCancel(ctx), key) // want `UNLINK.* said no`
		return errors.Join(errBusy, err)
	}
	runErr := run(ctx)
	return errors.Join(runErr, rdb.Del(context.WithoutCancel(ctx), key).Err())
}

// Printer is a lock with two methods.
type Printer struct {
	rdb  *redis.Client
	name string
}

// Take says whether it took the lock.
func (p *Printer) Take(ctx context.Context) (bool, error) {
	return p.rdb.SetNX(ctx, leaseKey(p.name), uuid.NewString(), leaseTTL).Result()
}

// Free deletes the lock, whoever has it.
func (p *Printer) Free(ctx context.Context) error {
	return p.rdb.Del(context.WithoutCancel(ctx), leaseKey(p.name)).Err()
}

// RedisMethods frees in the same defer whatever Take says.
func RedisMethods(ctx context.Context, rdb *redis.Client, printer string, run Print) (err error) {
	p := &Printer{rdb: rdb, name: printer}
	got, err := p.Take(ctx)
	defer func() {
		err = errors.Join(err, p.Free(ctx)) // want `DEL.* said no`
	}()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return run(ctx)
}

// RedisAtTheEnd frees at the common end of all paths.
func RedisAtTheEnd(ctx context.Context, rdb *redis.Client, printer string, run Print) (err error) {
	got, err := rdb.SetNX(ctx, leaseKey(printer), uuid.NewString(), leaseTTL).Result()
	if err != nil {
		return err
	}
	if got {
		err = run(ctx)
	} else {
		err = errBusy
	}
	return errors.Join(err, rdb.Del(context.WithoutCancel(ctx), leaseKey(printer)).Err()) // want `DEL.* said no`
}

// Redigo defers the DEL before it looks at the reply.
func Redigo(conn redigo.Conn, printer string, run func() error) error {
	reply, err := conn.Do("SET", leaseKey(printer), uuid.NewString(), "NX", "PX", leaseTTL.Milliseconds())
	if err != nil {
		return err
	}
	defer conn.Do("DEL", leaseKey(printer)) // want `DEL.* said no`
	if reply == nil {
		return errBusy
	}
	return run()
}
