package proof

import (
	"context"
	"testing"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// Store is a real Redis with a client of its own, which no program under test uses.
type Store struct {
	Addr  string
	tb    testing.TB
	watch *redisv9.Client
}

// Redis gives the test an empty Redis server.
func Redis(tb testing.TB) *Store {
	tb.Helper()
	s := &Store{Addr: testserver.Redis(tb), tb: tb}
	s.watch = s.V9(s.Addr)
	return s
}

// V9 opens a client of go-redis v9; addr is the server's or a gate's.
func (s *Store) V9(addr string) *redisv9.Client {
	client := redisv9.NewClient(&redisv9.Options{Addr: addr})
	s.tb.Cleanup(func() { client.Close() })
	return client
}

// V8 opens a client of go-redis v8.
func (s *Store) V8(addr string) *redisv8.Client {
	client := redisv8.NewClient(&redisv8.Options{Addr: addr})
	s.tb.Cleanup(func() { client.Close() })
	return client
}

// Redigo opens a connection of redigo.
func (s *Store) Redigo(addr string) redis.Conn {
	s.tb.Helper()
	conn, err := redis.Dial("tcp", addr)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { conn.Close() })
	return conn
}

// Rueidis opens a client of rueidis.
func (s *Store) Rueidis(addr string) rueidis.Client {
	s.tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(client.Close)
	return client
}

// Clear removes all keys.
func (s *Store) Clear() {
	s.tb.Helper()
	if err := s.watch.FlushAll(context.Background()).Err(); err != nil {
		s.tb.Fatal(err)
	}
}

// LockKey is the one key that there is: the lock of the program that holds it now.
func (s *Store) LockKey() string {
	s.tb.Helper()
	keys, err := s.watch.Keys(context.Background(), "*").Result()
	if err != nil || len(keys) != 1 {
		s.tb.Fatalf("keys are %q, %v; want the lock's alone", keys, err)
	}
	return keys[0]
}

// Theirs is the time to live that Take gives, long against every test.
const Theirs = time.Hour

// Take takes the lock key as another instance of the program would, with a value of its own. It
// reports whether it was let in.
func (s *Store) Take(key, holder string) bool {
	s.tb.Helper()
	got, err := s.watch.SetNX(context.Background(), key, holder, Theirs).Result()
	if err != nil {
		s.tb.Fatal(err)
	}
	return got
}

// MustTake fails the test unless Take is let in.
func (s *Store) MustTake(key, holder string) {
	s.tb.Helper()
	if !s.Take(key, holder) {
		s.tb.Fatalf("%s is not let in: %s holds %s", holder, s.Holder(key), key)
	}
}

// Lapse lets the lease on key run out: a time of expiry in the past has the server remove the key as
// it does when the time comes by itself.
func (s *Store) Lapse(key string) {
	s.tb.Helper()
	there, err := s.watch.PExpireAt(context.Background(), key, time.Now().Add(-time.Hour)).Result()
	if err != nil || !there {
		s.tb.Fatalf("%s cannot run out: %v, %v", key, there, err)
	}
}

// Overtake lets the lease on key run out and holder take it.
func (s *Store) Overtake(key, holder string) {
	s.tb.Helper()
	s.Lapse(key)
	s.MustTake(key, holder)
}

// Holder is the value of key, "" when there is no such key.
func (s *Store) Holder(key string) string {
	s.tb.Helper()
	value, err := s.watch.Get(context.Background(), key).Result()
	if err != nil && err != redisv9.Nil {
		s.tb.Fatal(err)
	}
	return value
}

// TTL is what the server answers to PTTL: -1 ns is no expiry, -2 ns no key.
func (s *Store) TTL(key string) time.Duration {
	s.tb.Helper()
	ttl, err := s.watch.PTTL(context.Background(), key).Result()
	if err != nil {
		s.tb.Fatal(err)
	}
	return ttl
}

// Commands lists the names of the commands that the server knows, in lower case.
func (s *Store) Commands() []string {
	s.tb.Helper()
	names, err := s.watch.CommandList(context.Background(), nil).Result()
	if err != nil {
		s.tb.Fatal(err)
	}
	return names
}
