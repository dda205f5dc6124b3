// Package kv is the program's own small view of Redis.
package kv

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Store reads and writes strings.
type Store struct{ Client redis.UniversalClient }

// Add sets the key if there is none, and reports whether it did.
func (s Store) Add(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return s.Client.SetNX(ctx, key, value, ttl).Result()
}

// Is reports whether the key has that value.
func (s Store) Is(ctx context.Context, key, value string) bool {
	found, err := s.Client.Get(ctx, key).Result()
	return err == nil && found == value
}

// Touch has the key live for ttl from now on.
func (s Store) Touch(ctx context.Context, key string, ttl time.Duration) error {
	return s.Client.PExpire(ctx, key, ttl).Err()
}
