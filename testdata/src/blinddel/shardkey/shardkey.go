// Package shardkey names the keys that search indexes have in Redis.
package shardkey

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Lock is the key of a shard's lock.
func Lock(shard int) string { return "search:shard:" + strconv.Itoa(shard) + ":lock" }

// Forget removes keys, and what the caller thinks of them is the caller's affair.
func Forget(ctx context.Context, client redis.Cmdable, keys ...string) error {
	return client.Del(ctx, keys...).Err()
}
