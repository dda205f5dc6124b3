// Package sendlock takes locks for jobs; how long they last is the caller's choice.
package sendlock

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

var free = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

// TryLock reports whether name is locked with the token that it returns.
func TryLock(ctx context.Context, client redis.UniversalClient, name string, ttl time.Duration) (token string, got bool, err error) {
	token = uuid.NewString()
	got, err = client.SetNX(ctx, "lock:"+name, token, ttl).Result()
	return token, got, err
}

// Unlock frees name if token is the one that TryLock returned. It reports whether it was.
func Unlock(ctx context.Context, client redis.UniversalClient, name, token string) (bool, error) {
	n, err := free.Run(ctx, client, []string{"lock:" + name}, token).Int()
	return n == 1, err
}
