// Package kv is the program's own small view of Redis.
package kv

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Store reads and writes strings.
type Store struct{ client redis.UniversalClient }

// New gives a store on the client.
func New(client redis.UniversalClient) *Store { return &Store{client} }

// Reserve sets the key if there is none, and reports whether it did.
func (s *Store) Reserve(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return s.client.SetNX(ctx, key, value, ttl).Result()
}

// Value reads the key; "" when there is none.
func (s *Store) Value(ctx context.Context, key string) (string, error) {
	value, err := s.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

// Remove deletes the key.
func (s *Store) Remove(ctx context.Context, key string) error {
	return s.client.Del(ctx, key).Err()
}
