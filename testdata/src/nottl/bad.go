// Package nottl sends newsletters. Each issue is sent by one process at a time.
package nottl

import (
	"context"
	"errors"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/nottl/sendlock"
)

var (
	errBusy = errors.New("another process sends this issue")
	errLost = errors.New("the issue's lock was not ours any more")
)

const lease = 10 * time.Minute

// Send is the work under the lock.
type Send func(ctx context.Context) error

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

func lockKey(issue string) string { return "newsletter:" + issue + ":lock" }

// freed turns the answer of the script, 1 or 0, into an error.
func freed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

func free(ctx context.Context, client redisv9.Scripter, key, token string) error {
	return freed(freeScript.Run(context.WithoutCancel(ctx), client, []string{key}, token).Int64())
}

// Forever takes 0 for the default expiry; it is none.
func Forever(ctx context.Context, client *redisv9.Client, issue string, send Send) (err error) {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(issue), token, 0).Result() // want `SET.* takes the lock with no expiry: .*never removes`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer func() { err = errors.Join(err, free(ctx, client, lockKey(issue), token)) }()
	return send(ctx)
}

// Kept keeps the expiry of the key that is not there yet.
func Kept(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	args := redisv9.SetArgs{Mode: "NX", KeepTTL: true}
	if err := client.SetArgs(ctx, lockKey(issue), token, args).Err(); errors.Is(err, redisv9.Nil) { // want `SET.* takes the lock with no expiry`
		return errBusy
	} else if err != nil {
		return err
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// ExpireAfterwards sets the expiry in a second command.
func ExpireAfterwards(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(issue), token, 0).Result() // want `SET.* takes the lock with no expiry, which .* sets later`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	if err := client.Expire(ctx, lockKey(issue), lease).Err(); err != nil {
		return errors.Join(err, free(ctx, client, lockKey(issue), token))
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// Piped sends both in one round trip, which is not one step: without MULTI the connection can end
// between them, and so can the expiry alone be refused.
func Piped(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	pipe := client.Pipeline()
	taken := pipe.SetNX(ctx, lockKey(issue), token, redisv9.KeepTTL) // want `SET.* takes the lock with no expiry, which .* sets later`
	pipe.PExpire(ctx, lockKey(issue), lease)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if !taken.Val() {
		return errBusy
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// Sometimes has an expiry for long issues only.
func Sometimes(ctx context.Context, client *redisv9.Client, issue string, long bool, send Send) error {
	var ttl time.Duration
	if long {
		ttl = lease
	}
	token := uuid.NewString()
	if got, err := client.SetNX(ctx, lockKey(issue), token, ttl).Result(); err != nil || !got { // want `SET.* takes the lock with no expiry: `
		return errors.Join(err, errBusy)
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// AcrossPackages asks another package for a lock that never ends.
func AcrossPackages(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token, got, err := sendlock.TryLock(ctx, client, issue, 0) // want `SET.* takes the lock with no expiry: `
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	sendErr := send(ctx)
	if ok, err := sendlock.Unlock(ctx, client, issue, token); err != nil || !ok {
		return errors.Join(sendErr, err, errLost)
	}
	return sendErr
}

// Issue has its lock in its fields, with the client that came before.
type Issue struct {
	client *redisv8.Client
	name   string
	token  string
}

// NewIssue makes the issue of a name.
func NewIssue(client *redisv8.Client, name string) *Issue {
	return &Issue{client: client, name: name, token: uuid.NewString()}
}

// Lock reports whether the issue is ours now.
func (i *Issue) Lock(ctx context.Context) (bool, error) {
	return i.client.SetNX(ctx, lockKey(i.name), i.token, 0).Result() // want `SET.* takes the lock with no expiry: `
}

// Unlock gives it back.
func (i *Issue) Unlock(ctx context.Context) error {
	return freed(freeScript8.Run(ctx, i.client, []string{lockKey(i.name)}, i.token).Int64())
}

// Redigo uses the command that has no expiry.
func Redigo(ctx context.Context, conn redis.Conn, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	n, err := redis.Int(conn.Do("SETNX", key, token)) // want `SETNX.* takes the lock with no expiry, which .* sets later`
	if err != nil {
		return err
	}
	if n == 0 {
		return errBusy
	}
	if _, err := conn.Do("EXPIRE", key, int(lease.Seconds())); err != nil {
		return err
	}
	return errors.Join(send(ctx), freed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// RedigoPlain leaves the expiry out.
func RedigoPlain(ctx context.Context, conn redis.Conn, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	answer, err := conn.Do("SET", key, token, "NX") // want `SET.* takes the lock with no expiry: `
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	return errors.Join(send(ctx), freed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// Rueidis leaves the expiry out, with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	set := client.B().Set().Key(key).Value(token).Nx().Build()
	switch err := client.Do(ctx, set).Error(); { // want `SET.* takes the lock with no expiry: `
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	return errors.Join(send(ctx), freed(freeRueidis.Exec(ctx, client, []string{key}, []string{token}).AsInt64()))
}

// Locks is the program's own name for what it needs of a client.
type Locks interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	redisv9.Scripter
}

// ThroughInterface knows only the program's own interface, and returns the function that unlocks.
func ThroughInterface(ctx context.Context, locks Locks, issue string) (unlock func() error, err error) {
	token := uuid.NewString()
	got, err := locks.SetNX(ctx, lockKey(issue), token, 0) // want `SET.* takes the lock with no expiry: `
	if err != nil {
		return nil, err
	}
	if !got {
		return nil, errBusy
	}
	return func() error { return free(ctx, locks, lockKey(issue), token) }, nil
}
