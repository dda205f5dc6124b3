package setnonx

import (
	"context"
	"errors"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// Asked asks with NX.
func Asked(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(till), token, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, client, till, token))
}

// AskedInArguments does so with SetArgs.
func AskedInArguments(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	token := uuid.NewString()
	err := client.SetArgs(ctx, lockKey(till), token, redisv9.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redisv9.Nil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, client, till, token))
}

// LookedFirst looks before it asks, to spare a write; the NX decides.
func LookedFirst(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	if n, err := client.Exists(ctx, lockKey(till)).Result(); err != nil || n > 0 {
		return errors.Join(err, errBusy)
	}
	return Asked(ctx, client, till, count)
}

// Watched sets in the MULTI of a WATCH: EXEC fails when the key has come since.
func Watched(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	token := uuid.NewString()
	err := client.Watch(ctx, func(tx *redisv9.Tx) error {
		n, err := tx.Exists(ctx, lockKey(till)).Result()
		if err != nil {
			return err
		}
		if n > 0 {
			return errBusy
		}
		_, err = tx.TxPipelined(ctx, func(pipe redisv9.Pipeliner) error {
			pipe.Set(ctx, lockKey(till), token, lease)
			return nil
		})
		return err
	}, lockKey(till))
	if errors.Is(err, redisv9.TxFailedErr) {
		return errBusy
	}
	if err != nil {
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, client, till, token))
}

var take = redisv9.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return 1
end
return 0`)

// Scripted looks and sets in one script.
func Scripted(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	token := uuid.NewString()
	n, err := take.Run(ctx, client, []string{lockKey(till)}, token, lease.Milliseconds()).Int()
	if err != nil {
		return err
	}
	if n == 0 {
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, client, till, token))
}

// RedigoAsked asks with NX on a connection of redigo.
func RedigoAsked(ctx context.Context, conn redis.Conn, till string, count Count) error {
	token := uuid.NewString()
	answer, err := conn.Do("SET", lockKey(till), token, "NX", "PX", lease.Milliseconds())
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(redis.Int64(freeRedigo.Do(conn, lockKey(till), token))))
}

// V8Asked asks with NX and the client that came before.
func V8Asked(ctx context.Context, client *redisv8.Client, till string, count Count) error {
	token := uuid.NewString()
	if got, err := client.SetNX(ctx, lockKey(till), token, lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(freeScript8.Run(ctx, client, []string{lockKey(till)}, token).Int64()))
}

// RueidisAsked asks with NX and rueidis's builders.
func RueidisAsked(ctx context.Context, client rueidis.Client, till string, count Count) error {
	token := uuid.NewString()
	set := client.B().Set().Key(lockKey(till)).Value(token).Nx().Px(lease).Build()
	switch err := client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(freeRueidis.Exec(ctx, client, []string{lockKey(till)}, []string{token}).AsInt64()))
}

// Takings reads through a cache: who sets it later sets the same.
func Takings(ctx context.Context, client *redisv9.Client, till string, sum func(string) string) (string, error) {
	key := "takings:" + till
	found, err := client.Get(ctx, key).Result()
	if err == nil || !errors.Is(err, redisv9.Nil) {
		return found, err
	}
	found = sum(till)
	return found, client.Set(ctx, key, found, time.Minute).Err()
}

// SignIn gives a clerk a session, in place of an older one.
func SignIn(ctx context.Context, client *redisv9.Client, clerk string) (session string, err error) {
	session = uuid.NewString()
	return session, client.Set(ctx, "session:"+clerk, session, 8*time.Hour).Err()
}

// SignOut ends it if it is the one that the clerk has.
func SignOut(ctx context.Context, client *redisv9.Client, clerk, session string) error {
	return freed(freeScript.Run(ctx, client, []string{"session:" + clerk}, session).Int64())
}

// Suspend keeps a till shut until somebody lets it be used again.
func Suspend(ctx context.Context, client *redisv9.Client, till string) error {
	if n, err := client.Exists(ctx, "suspended:"+till).Result(); err != nil || n > 0 {
		return err
	}
	return client.Set(ctx, "suspended:"+till, time.Now().String(), 0).Err()
}

// Allow ends a suspension.
func Allow(ctx context.Context, client *redisv9.Client, till string) error {
	return client.Del(ctx, "suspended:"+till).Err()
}
