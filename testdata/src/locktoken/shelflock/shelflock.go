// Package shelflock locks shelves under tokens that its callers choose.
package shelflock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lease is how long a shelf stays locked.
const Lease = time.Minute

var free = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('DEL', KEYS[1])`)

// Take reports whether the shelf is now locked under token.
func Take(ctx context.Context, client redis.Cmdable, shelf, token string) (bool, error) {
	return client.SetNX(ctx, "lock:shelf:"+shelf, token, Lease).Result()
}

// Free frees the shelf if it is locked under token, and reports whether it was.
func Free(ctx context.Context, client redis.Scripter, shelf, token string) (bool, error) {
	n, err := free.Run(ctx, client, []string{"lock:shelf:" + shelf}, token).Int()
	return n == 1, err
}
