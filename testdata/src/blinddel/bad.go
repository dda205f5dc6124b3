// Package blinddel rebuilds search indexes. Each shard is rebuilt by one worker at a time.
package blinddel

import (
	"context"
	"errors"
	"fmt"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/blinddel/shardkey"
)

var errBusy = errors.New("another worker rebuilds this shard")

const lease = 2 * time.Minute

// Rebuild is the work under the lock.
type Rebuild func(ctx context.Context) error

// Flagged uses the key as a flag: the value says nothing, and nobody looks at it.
func Flagged(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	key := fmt.Sprintf("rebuild:%d", shard)
	got, err := client.SetNX(ctx, key, "1", lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer client.Del(context.WithoutCancel(ctx), key) // want `DEL.* does not look at who holds the lock.*DelIfEqual`
	return run(ctx)
}

// Eager defers the release before it knows whether there is anything to release.
func Eager(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	got, err := client.SetNX(ctx, shardkey.Lock(shard), time.Now().String(), lease).Result()
	defer func() {
		client.Del(context.WithoutCancel(ctx), shardkey.Lock(shard)) // want `DEL.* does not look at who holds`
	}()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return run(ctx)
}

// Worker keeps a token and does not use it when it unlocks.
type Worker struct {
	client redisv9.UniversalClient
	shard  string
	token  string
}

// NewWorker makes the worker of a shard.
func NewWorker(client redisv9.UniversalClient, shard int) *Worker {
	return &Worker{client: client, shard: fmt.Sprint(shard), token: uuid.NewString()}
}

func (w *Worker) lockKey() string { return "worker:" + w.shard }

// TryLock reports whether the shard is this worker's now.
func (w *Worker) TryLock(ctx context.Context) (bool, error) {
	return w.client.SetNX(ctx, w.lockKey(), w.token, lease).Result()
}

// Unlock frees the shard, whoever's it is.
func (w *Worker) Unlock(ctx context.Context) error {
	return w.client.Del(ctx, w.lockKey()).Err() // want `DEL.* does not look at who holds`
}

// Claim returns the function that ends the claim.
func Claim(ctx context.Context, client redisv9.Cmdable, shard int) (end func(), err error) {
	key := shardkey.Lock(shard)
	err = client.SetArgs(ctx, key, uuid.NewString(), redisv9.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redisv9.Nil) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	end = func() {
		client.Unlink(context.WithoutCancel(ctx), key) // want `(UNLINK|DEL).* does not look at who holds`
	}
	return end, nil
}

// Tidy deletes the lock among other keys, in one pipeline.
func Tidy(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	lock, progress := shardkey.Lock(shard), fmt.Sprintf("progress:%d", shard)
	if got, err := client.SetNX(ctx, lock, uuid.NewString(), lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	runErr := run(ctx)
	_, err := client.Pipelined(ctx, func(pipe redisv9.Pipeliner) error {
		pipe.Del(ctx, progress)
		pipe.Del(ctx, lock) // want `DEL.* does not look at who holds`
		return nil
	})
	return errors.Join(runErr, err)
}

// AcrossPackages deletes in a helper that does not know what the key is.
func AcrossPackages(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	got, err := client.SetNX(ctx, shardkey.Lock(shard), uuid.NewString(), lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	runErr := run(ctx)
	return errors.Join(runErr, shardkey.Forget(ctx, client, shardkey.Lock(shard))) // want `DEL.* does not look at who holds`
}

// Leases is the program's own name for what it needs of a client.
type Leases interface {
	SetNX(ctx context.Context, key string, value any, ttl time.Duration) (bool, error)
	Del(ctx context.Context, keys ...string) error
}

// ThroughInterface knows only the program's own interface.
func ThroughInterface(ctx context.Context, leases Leases, shard int, run Rebuild) (err error) {
	got, err := leases.SetNX(ctx, shardkey.Lock(shard), "rebuilding", lease)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer func() {
		err = errors.Join(err, leases.Del(ctx, shardkey.Lock(shard))) // want `DEL.* does not look at who holds`
	}()
	return run(ctx)
}

// Redigo does the same on a connection of redigo.
func Redigo(ctx context.Context, conn redis.Conn, shard int, run Rebuild) error {
	key := shardkey.Lock(shard)
	n, err := redis.Int(conn.Do("SETNX", key, 1))
	if err != nil {
		return err
	}
	if n == 0 {
		return errBusy
	}
	if _, err := conn.Do("EXPIRE", key, int(lease.Seconds())); err != nil {
		return err
	}
	defer conn.Do("DEL", key) // want `DEL.* does not look at who holds`
	return run(ctx)
}

// V8 does the same with the client that came before.
func V8(ctx context.Context, client *redisv8.Client, shard int, run Rebuild) error {
	key := shardkey.Lock(shard)
	if got, err := client.SetNX(ctx, key, true, lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	defer client.Del(ctx, key) // want `DEL.* does not look at who holds`
	return run(ctx)
}

// Rueidis does the same with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, shard int, run Rebuild) error {
	key := shardkey.Lock(shard)
	set := client.B().Set().Key(key).Value("1").Nx().Ex(lease).Build()
	switch err := client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	runErr := run(ctx)
	free := client.B().Del().Key(key).Build()
	return errors.Join(runErr, client.Do(ctx, free).Error()) // want `DEL.* does not look at who holds`
}
