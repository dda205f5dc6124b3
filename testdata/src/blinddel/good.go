package blinddel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/testdata/src/blinddel/shardkey"
)

var errLost = errors.New("the shard was not ours any more")

var free = redisv9.NewScript(`
local mine = redis.call('GET', KEYS[1]) == ARGV[1]
if mine then
	return redis.call('DEL', KEYS[1])
end
return 0`)

// Compared compares and deletes in one script.
func Compared(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	key, token := shardkey.Lock(shard), uuid.NewString()
	got, err := client.SetNX(ctx, key, token, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	runErr := run(ctx)
	n, err := free.Run(ctx, client, []string{key}, token).Int64()
	if err == nil && n == 0 {
		err = errLost
	}
	return errors.Join(runErr, err)
}

// ComparedRedigo does so on a connection of redigo.
func ComparedRedigo(ctx context.Context, conn redis.Conn, shard int, run Rebuild) error {
	key, token := shardkey.Lock(shard), uuid.NewString()
	_, err := redis.String(conn.Do("SET", key, token, "EX", int(lease.Seconds()), "NX"))
	if err == redis.ErrNil {
		return errBusy
	}
	if err != nil {
		return err
	}
	runErr := run(ctx)
	n, err := redis.Int(conn.Do("EVAL", `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`, 1, key, token))
	if err == nil && n == 0 {
		err = errLost
	}
	return errors.Join(runErr, err)
}

// Library leaves it to a library of locks.
func Library(ctx context.Context, client *redisv9.Client, shard int, run Rebuild) error {
	held, err := redislock.New(client).Obtain(ctx, shardkey.Lock(shard), lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return errBusy
	}
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, held.Release(ctx))
}

// ForceUnlock is for the operator, after a worker has been seen dead.
func ForceUnlock(ctx context.Context, client *redisv9.Client, shard int) error {
	return client.Del(ctx, shardkey.Lock(shard)).Err()
}

// Admin has what only operators may do.
type Admin struct{ client redisv9.UniversalClient }

// BreakLock takes a shard away from its worker.
func (a *Admin) BreakLock(ctx context.Context, shard int) (bool, error) {
	n, err := a.client.Del(ctx, shardkey.Lock(shard)).Result()
	return n == 1, err
}

// Once handles a change once: the key is a mark that it was handled, and goes only when it was not.
func Once(ctx context.Context, client *redisv9.Client, change string, handle Rebuild) error {
	mark := "handled:" + change
	first, err := client.SetNX(ctx, mark, 1, 24*time.Hour).Result()
	if err != nil || !first {
		return err
	}
	if err := handle(ctx); err != nil {
		client.Del(context.WithoutCancel(ctx), mark) // so that the change can be delivered again
		return err
	}
	return nil
}

// Pause stops all rebuilding until an operator calls Resume.
func Pause(ctx context.Context, client *redisv9.Client, why string) (bool, error) {
	return client.SetNX(ctx, "rebuild:paused", why, 0).Result()
}

// Resume ends a pause, whoever began it.
func Resume(ctx context.Context, client *redisv9.Client) error {
	return client.Del(ctx, "rebuild:paused").Err()
}

// Synonyms reads through a cache; the first to store its answer wins, which does no harm.
func Synonyms(ctx context.Context, client *redisv9.Client, word string, load func(string) string) (string, error) {
	key := "synonyms:" + word
	if found, err := client.Get(ctx, key).Result(); err == nil {
		return found, nil
	}
	loaded := load(word)
	return loaded, client.SetNX(ctx, key, loaded, time.Hour).Err()
}

// ChangeSynonyms makes the cached answer go.
func ChangeSynonyms(ctx context.Context, client *redisv9.Client, word string) error {
	return client.Del(ctx, "synonyms:"+word).Err()
}

// CountFailure counts, from 0 if there is no counter yet.
func CountFailure(ctx context.Context, client *redisv9.Client, shard int) (int64, error) {
	key := fmt.Sprintf("failures:%d", shard)
	if err := client.SetNX(ctx, key, 0, time.Hour).Err(); err != nil {
		return 0, err
	}
	return client.Incr(ctx, key).Result()
}

// ResetFailures begins to count anew.
func ResetFailures(ctx context.Context, client *redisv9.Client, shard int) error {
	return client.Del(ctx, fmt.Sprintf("failures:%d", shard)).Err()
}
