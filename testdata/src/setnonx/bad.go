// Package setnonx closes tills at the end of the day. Each till is counted by one clerk at a time.
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

	"github.com/advisorylint/advisorylint/testdata/src/setnonx/kv"
)

var (
	errBusy = errors.New("another clerk counts this till")
	errLost = errors.New("the till was not ours any more")
)

const lease = 5 * time.Minute

// Count is the work under the lock.
type Count func(ctx context.Context) error

const freeText = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`

var (
	freeScript  = redisv9.NewScript(freeText)
	freeScript8 = redisv8.NewScript(freeText)
	freeRedigo  = redis.NewScript(1, freeText)
	freeRueidis = rueidis.NewLuaScript(freeText)
)

func lockKey(till string) string { return "till:" + till + ":lock" }

// freed turns the answer of the script, 1 or 0, into an error.
func freed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

func free(ctx context.Context, client redisv9.Scripter, till, token string) error {
	return freed(freeScript.Run(context.WithoutCancel(ctx), client, []string{lockKey(till)}, token).Int64())
}

// Plain takes the OK of a SET for a yes. SET always says OK.
func Plain(ctx context.Context, client *redisv9.Client, till string, count Count) error {
	token := uuid.NewString()
	answer, err := client.Set(ctx, lockKey(till), token, lease).Result() // want `SET.* takes the lock without NX: .*SetNX`
	if err != nil {
		return err
	}
	if answer != "OK" {
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, client, till, token))
}

// Looked looks first: the key can come between the GET and the SET.
func Looked(ctx context.Context, client *redisv9.Client, till string, count Count) (err error) {
	_, err = client.Get(ctx, lockKey(till)).Result()
	if err == nil {
		return errBusy
	}
	if !errors.Is(err, redisv9.Nil) {
		return err
	}
	token := uuid.NewString()
	if err := client.Set(ctx, lockKey(till), token, lease).Err(); err != nil { // want `SET.* takes the lock without NX`
		return err
	}
	defer func() { err = errors.Join(err, free(ctx, client, till, token)) }()
	return count(ctx)
}

// Clerk has its lock in its fields.
type Clerk struct {
	client redisv9.UniversalClient
	till   string
	token  string
}

// NewClerk makes the clerk of a till.
func NewClerk(client redisv9.UniversalClient, till string) *Clerk {
	return &Clerk{client: client, till: till, token: uuid.NewString()}
}

// TryLock reports whether it thinks that the till is ours now.
func (c *Clerk) TryLock(ctx context.Context) (bool, error) {
	n, err := c.client.Exists(ctx, lockKey(c.till)).Result()
	if err != nil || n > 0 {
		return false, err
	}
	err = c.client.SetEx(ctx, lockKey(c.till), c.token, lease).Err() // want `SET.* takes the lock without NX`
	return err == nil, err
}

// Unlock gives the till back.
func (c *Clerk) Unlock(ctx context.Context) error { return free(ctx, c.client, c.till, c.token) }

// Lock returns the function that unlocks. The library's own arguments lack the mode.
func Lock(ctx context.Context, client redisv9.UniversalClient, till string) (unlock func() error, err error) {
	token := uuid.NewString()
	err = client.SetArgs(ctx, lockKey(till), token, redisv9.SetArgs{TTL: lease}).Err() // want `SET.* takes the lock without NX`
	if errors.Is(err, redisv9.Nil) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	return func() error { return free(ctx, client, till, token) }, nil
}

// AcrossPackages sends nothing itself.
func AcrossPackages(ctx context.Context, store kv.Store, till string, count Count) error {
	if taken, err := store.Has(ctx, lockKey(till)); err != nil || taken {
		return errors.Join(err, errBusy)
	}
	token := uuid.NewString()
	if err := store.Put(ctx, lockKey(till), token, lease); err != nil { // want `SET.* takes the lock without NX`
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, store.Client, till, token))
}

// Locks is the program's own name for what it needs of a client.
type Locks interface {
	Get(ctx context.Context, key string) (string, error)
	Set(ctx context.Context, key, value string, ttl time.Duration) error
	redisv9.Scripter
}

// ThroughInterface knows only the program's own interface, whose Get gives "" for no key.
func ThroughInterface(ctx context.Context, locks Locks, till string, count Count) error {
	holder, err := locks.Get(ctx, lockKey(till))
	if err != nil {
		return err
	}
	if holder != "" {
		return errBusy
	}
	token := uuid.NewString()
	if err := locks.Set(ctx, lockKey(till), token, lease); err != nil { // want `SET.* takes the lock without NX`
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, free(ctx, locks, till, token))
}

// Redigo looks and sets on a connection of redigo.
func Redigo(ctx context.Context, conn redis.Conn, till string, count Count) error {
	taken, err := redis.Bool(conn.Do("EXISTS", lockKey(till)))
	if err != nil {
		return err
	}
	if taken {
		return errBusy
	}
	token := uuid.NewString()
	if _, err := conn.Do("SETEX", lockKey(till), int(lease.Seconds()), token); err != nil { // want `SET.* takes the lock without NX`
		return err
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(redis.Int64(freeRedigo.Do(conn, lockKey(till), token))))
}

// V8 sets plainly with the client that came before.
func V8(ctx context.Context, client *redisv8.Client, till string, count Count) error {
	token := uuid.NewString()
	if err := client.Set(ctx, lockKey(till), token, lease).Err(); err != nil { // want `SET.* takes the lock without NX`
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(freeScript8.Run(ctx, client, []string{lockKey(till)}, token).Int64()))
}

// Rueidis sets plainly with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, till string, count Count) error {
	token := uuid.NewString()
	set := client.B().Set().Key(lockKey(till)).Value(token).Px(lease).Build()
	if err := client.Do(ctx, set).Error(); err != nil { // want `SET.* takes the lock without NX`
		return errBusy
	}
	countErr := count(ctx)
	return errors.Join(countErr, freed(freeRueidis.Exec(ctx, client, []string{lockKey(till)}, []string{token}).AsInt64()))
}
