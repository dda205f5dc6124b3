package renewrace

import (
	"context"
	"errors"
	"time"

	bsm "github.com/bsm/redislock"
	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// extend is the usual form.
const extend = `
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
else
	return 0
end`

// extendLocals is the same with locals, another name for redis.call and an early return.
const extendLocals = `
local call, key = redis.call, KEYS[1]
local holder = call('GET', key)
if holder ~= ARGV[1] then return 0 end
return call('EXPIRE', key, ARGV[2])`

var (
	extendScript = redisv9.NewScript(extend)
	extendLocal  = redisv9.NewScript(extendLocals)
	extendRedigo = redis.NewScript(1, extend)
	extendV8     = redisv8.NewScript(extend)
)

// TickingScripted renews in a goroutine with a script, and stops the work when the lock is another's.
func TickingScripted(ctx context.Context, client *redisv9.Client, video string, every time.Duration, work Transcode) error {
	token, err := take(ctx, client, video)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				n, err := extendScript.Run(ctx, client, []string{lockKey(video)}, token, lease.Milliseconds()).Int64()
				if err != nil || n == 0 {
					stop(errLost)
					return
				}
			}
		}
	}()
	workErr := work(ctx)
	return errors.Join(workErr, free(ctx, client, video, token))
}

// twoPasses runs both passes with an extension in between.
func twoPasses(ctx context.Context, client *redisv9.Client, video string, first, second Transcode, extend func(token string) error) error {
	token, err := take(ctx, client, video)
	if err != nil {
		return err
	}
	err = first(ctx)
	if err == nil {
		err = extend(token)
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, free(ctx, client, video, token))
}

// ScriptedLocals extends with the script's other form.
func ScriptedLocals(ctx context.Context, client *redisv9.Client, video string, first, second Transcode) error {
	return twoPasses(ctx, client, video, first, second, func(token string) error {
		return changed(extendLocal.Run(ctx, client, []string{lockKey(video)}, token, int(lease.Seconds())).Int64())
	})
}

// Watched extends in the MULTI of a WATCH: EXEC fails when the key has changed since.
func Watched(ctx context.Context, client *redisv9.Client, video string, first, second Transcode) error {
	return twoPasses(ctx, client, video, first, second, func(token string) error {
		return client.Watch(ctx, func(tx *redisv9.Tx) error {
			if holder, err := tx.Get(ctx, lockKey(video)).Result(); err != nil || holder != token {
				return errors.Join(err, errLost)
			}
			_, err := tx.TxPipelined(ctx, func(pipe redisv9.Pipeliner) error {
				pipe.PExpire(ctx, lockKey(video), lease)
				return nil
			})
			return err
		}, lockKey(video))
	})
}

// DropIn extends with the runtime's function.
func DropIn(ctx context.Context, client *redisv9.Client, video string, first, second Transcode) error {
	return twoPasses(ctx, client, video, first, second, func(token string) error {
		return redislock.ExpireIfEqual(ctx, client, lockKey(video), token, lease)
	})
}

// Library leaves it to a library of locks.
func Library(ctx context.Context, client *redisv9.Client, video string, first, second Transcode) error {
	held, err := bsm.New(client).Obtain(ctx, lockKey(video), lease, nil)
	if errors.Is(err, bsm.ErrNotObtained) {
		return errBusy
	}
	if err != nil {
		return err
	}
	err = first(ctx)
	if err == nil {
		err = held.Refresh(ctx, lease, nil)
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}

// RedigoScripted extends on a connection of redigo.
func RedigoScripted(ctx context.Context, conn redis.Conn, video string, first, second Transcode) error {
	key, token := lockKey(video), uuid.NewString()
	answer, err := conn.Do("SET", key, token, "NX", "PX", lease.Milliseconds())
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	err = first(ctx)
	if err == nil {
		err = changed(redis.Int64(extendRedigo.Do(conn, key, token, lease.Milliseconds())))
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, changed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// V8Scripted extends with the client that came before.
func V8Scripted(ctx context.Context, client *redisv8.Client, video string, first, second Transcode) error {
	keys, token := []string{lockKey(video)}, uuid.NewString()
	if got, err := client.SetNX(ctx, keys[0], token, lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	err := first(ctx)
	if err == nil {
		err = changed(extendV8.Run(ctx, client, keys, token, lease.Milliseconds()).Int64())
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, changed(freeScript8.Run(ctx, client, keys, token).Int64()))
}

// Completed sets the expiry once, right after the acquire: that is nottl's mistake, and no renewal.
func Completed(ctx context.Context, client *redisv9.Client, video string, work Transcode) error {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(video), token, 0).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	if err := client.Expire(ctx, lockKey(video), lease).Err(); err != nil {
		return errors.Join(err, free(ctx, client, video, token))
	}
	workErr := work(ctx)
	return errors.Join(workErr, free(ctx, client, video, token))
}

// Viewer has a session live on for as long as it is used.
func Viewer(ctx context.Context, client *redisv9.Client, session string) (viewer string, err error) {
	viewer, err = client.Get(ctx, "session:"+session).Result()
	if err == nil {
		err = client.Expire(ctx, "session:"+session, time.Hour).Err()
	}
	return viewer, err
}

// Allowed counts uploads in an hour.
func Allowed(ctx context.Context, client *redisv9.Client, viewer string) (bool, error) {
	n, err := client.Incr(ctx, "uploads:"+viewer).Result()
	if err == nil && n == 1 {
		err = client.Expire(ctx, "uploads:"+viewer, time.Hour).Err()
	}
	return n <= 20, err
}

// Thumbnail keeps what is asked for in the cache.
func Thumbnail(ctx context.Context, client *redisv9.Client, video string, draw func(string) string) (string, error) {
	key := "thumbnail:" + video
	if first, err := client.SetNX(ctx, key, draw(video), time.Hour).Result(); err != nil || first {
		return client.Get(ctx, key).Val(), err
	}
	client.Expire(ctx, key, time.Hour)
	return client.Get(ctx, key).Result()
}
