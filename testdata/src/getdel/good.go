package getdel

import (
	"context"
	_ "embed"
	"errors"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// release is the usual form, with both branches.
const release = `
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`

// releaseLocals is the same with locals and another name for redis.call.
const releaseLocals = `
local call = redis.call
local key, token = KEYS[1], ARGV[1]
if call('GET', key) ~= token then return 0 end
call('DEL', key)
return 1`

//go:embed release.lua
var releaseFile string

var (
	releaseV9     = redisv9.NewScript(release)
	releaseLocal  = redisv9.NewScript(releaseLocals)
	releaseV8     = redisv8.NewScript(releaseLocals)
	releaseRedigo = redis.NewScript(1, release)
	releaseLua    = rueidis.NewLuaScript(release)
)

func begin(ctx context.Context, client redisv9.Cmdable, supplier string) (key, token string, err error) {
	key, token = lockKey(supplier), uuid.NewString()
	got, err := client.SetNX(ctx, key, token, lease).Result()
	if err == nil && !got {
		err = errBusy
	}
	return key, token, err
}

// freed turns the answer of a script, 1 or 0, into an error.
func freed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

// Scripted compares and deletes in one script.
func Scripted(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(releaseV9.Run(ctx, client, []string{key}, token).Int64()))
}

// ScriptedLocals does it with the script's other form.
func ScriptedLocals(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(releaseLocal.Run(ctx, client, []string{key}, token).Int64()))
}

// FromFile has its script in a file.
func FromFile(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(client.Eval(ctx, releaseFile, []string{key}, token).Int64()))
}

// Watched deletes in the MULTI of a WATCH: EXEC fails when the key has changed since.
func Watched(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	err = client.Watch(ctx, func(tx *redisv9.Tx) error {
		holder, err := tx.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redisv9.Nil) {
			return err
		}
		if holder != token {
			return errLost
		}
		_, err = tx.TxPipelined(ctx, func(pipe redisv9.Pipeliner) error {
			pipe.Del(ctx, key)
			return nil
		})
		return err
	}, key)
	return errors.Join(runErr, err)
}

// Conditional uses the command that Redis 8.4 has for this.
func Conditional(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(client.Do(ctx, "DELEX", key, "IFEQ", token).Int64()))
}

// DropIn compares and deletes with the runtime's function.
func DropIn(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key, token, err := begin(ctx, client, supplier)
	if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, redislock.DelIfEqual(ctx, client, key, token))
}

// RedigoScripted does it on a connection of redigo.
func RedigoScripted(ctx context.Context, conn redis.Conn, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	switch _, err := redis.String(conn.Do("SET", key, token, "NX", "PX", lease.Milliseconds())); {
	case err == redis.ErrNil:
		return errBusy
	case err != nil:
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(redis.Int64(releaseRedigo.Do(conn, key, token))))
}

// RedigoWatched does it with redigo's own WATCH, MULTI and EXEC.
func RedigoWatched(ctx context.Context, conn redis.Conn, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	switch _, err := redis.String(conn.Do("SET", key, token, "NX", "PX", lease.Milliseconds())); {
	case err == redis.ErrNil:
		return errBusy
	case err != nil:
		return err
	}
	runErr := run(ctx)
	if _, err := conn.Do("WATCH", key); err != nil {
		return errors.Join(runErr, err)
	}
	if holder, err := redis.String(conn.Do("GET", key)); err != nil || holder != token {
		conn.Do("UNWATCH")
		return errors.Join(runErr, err, errLost)
	}
	conn.Send("MULTI")
	conn.Send("DEL", key)
	replies, err := conn.Do("EXEC")
	if err == nil && replies == nil {
		err = errLost
	}
	return errors.Join(runErr, err)
}

// V8Scripted does it with the client that came before.
func V8Scripted(ctx context.Context, client *redisv8.Client, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	if got, err := client.SetNX(ctx, key, token, lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(releaseV8.Run(ctx, client, []string{key}, token).Int64()))
}

// RueidisScripted does it with rueidis's script.
func RueidisScripted(ctx context.Context, client rueidis.Client, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	set := client.B().Set().Key(key).Value(token).Nx().Px(lease).Build()
	if err := client.Do(ctx, set).Error(); rueidis.IsRedisNil(err) {
		return errBusy
	} else if err != nil {
		return err
	}
	runErr := run(ctx)
	return errors.Join(runErr, freed(releaseLua.Exec(ctx, client, []string{key}, []string{token}).AsInt64()))
}

// SendCode and Confirm are a supplier's one-time code: nobody waits for it or holds it.
func SendCode(ctx context.Context, client *redisv9.Client, supplier, code string) error {
	return client.Set(ctx, "code:"+supplier, code, 10*time.Minute).Err()
}

// Confirm uses the code up.
func Confirm(ctx context.Context, client *redisv9.Client, supplier, code string) (bool, error) {
	sent, err := client.Get(ctx, "code:"+supplier).Result()
	if errors.Is(err, redisv9.Nil) || err == nil && sent != code {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, client.Del(ctx, "code:"+supplier).Err()
}

// DropStale removes a cached list of an older edition.
func DropStale(ctx context.Context, client *redisv9.Client, supplier, edition string) error {
	cached, err := client.Get(ctx, "edition:"+supplier).Result()
	if err != nil || cached == edition {
		return err
	}
	return client.Del(ctx, "edition:"+supplier, "list:"+supplier).Err()
}
