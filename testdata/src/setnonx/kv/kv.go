// Package kv is the program's own small view of Redis.
package kv

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Store reads and writes strings.
type Store struct{ Client redis.UniversalClient }

// Has reports whether there is such a key.
func (s Store) Has(ctx context.Context, key string) (bool, error) {
	n, err := s.Client.Exists(ctx, key).Result()
	return n > 0, err
}

// Put sets the key.
func (s Store) Put(ctx context.Context, key, value string, ttl time.Duration) error {
	return s.Client.Set(ctx, key, value, ttl).Err()
}
