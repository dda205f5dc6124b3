package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// endedContext is one that has ended.
func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestDelIfEqualDeletesItsOwnValueOnly(t *testing.T) {
	noLeaks(t)
	client := single(t, testserver.Redis(t))
	ctx := t.Context()
	for _, value := range []any{"token", []byte("token"), 42, int64(-1), 1.5, true} {
		if err := client.SetNX(ctx, "k", value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		err := redislock.DelIfEqual(ctx, client, "k", "another")
		if !errors.Is(err, lock.ErrNotHeld) || !strings.Contains(err.Error(), `"k"`) {
			t.Errorf("another value: %v, want ErrNotHeld with the key", err)
		}
		if err := redislock.DelIfEqual(endedContext(), client, "k", value); err != nil {
			t.Errorf("value %v, with a context that has ended: %v", value, err)
		}
		if err := redislock.DelIfEqual(ctx, client, "k", value); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("no key: %v, want ErrNotHeld", err)
		}
	}
	if left := keys(t, client); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestExpireIfEqualRenewsItsOwnValueOnly(t *testing.T) {
	noLeaks(t)
	client := single(t, testserver.Redis(t))
	ctx := t.Context()
	client.SetNX(ctx, "k", "token", time.Minute)
	if err := redislock.ExpireIfEqual(ctx, client, "k", "another", time.Hour); !errors.Is(err, lock.ErrNotHeld) || !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("another value: %v, want ErrNotHeld with the key", err)
	}
	if left := client.PTTL(ctx, "k").Val(); left > time.Minute {
		t.Errorf("another value renewed the key: %v", left)
	}
	if err := redislock.ExpireIfEqual(ctx, client, "k", "token", time.Hour); err != nil {
		t.Error(err)
	}
	if left := client.PTTL(ctx, "k").Val(); left < 59*time.Minute || left > time.Hour {
		t.Errorf("after the renewal: %v", left)
	}
	for _, ttl := range []time.Duration{-time.Second, 0, time.Millisecond - 1} {
		if err := redislock.ExpireIfEqual(ctx, client, "k", "token", ttl); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("ttl %v: %v, want ErrInvalid", ttl, err)
		}
	}
	if err := redislock.ExpireIfEqual(endedContext(), client, "k", "token", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := redislock.ExpireIfEqual(ctx, client, "no", "token", time.Minute); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("no key: %v, want ErrNotHeld", err)
	}
}

func TestDropInsRefusePipelines(t *testing.T) {
	noLeaks(t)
	pipe := single(t, testserver.Redis(t)).Pipeline()
	if err := redislock.DelIfEqual(t.Context(), pipe, "k", "v"); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
	if pipe.Len() != 0 {
		t.Error("something was queued")
	}
}

func TestDropInsWorkOnEveryKindOfClient(t *testing.T) {
	noLeaks(t)
	address := testserver.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": address}})
	defer ring.Close()
	conn := client.Conn()
	defer conn.Close()
	for name, scripter := range map[string]redis.Scripter{
		"client": client, "ring": ring, "connection": conn,
		"wrapper": struct{ redis.Scripter }{client}, // with no method but those of Scripter
	} {
		client.Set(t.Context(), "k", "v", time.Minute)
		client.ScriptFlush(t.Context())
		if err := redislock.ExpireIfEqual(t.Context(), scripter, "k", "v", time.Minute); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := redislock.DelIfEqual(t.Context(), scripter, "k", "v"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := redislock.DelIfEqual(t.Context(), scripter, "k", "v"); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("%s: a second time: %v, want ErrNotHeld", name, err)
		}
	}
}

// A deletion whose reply is lost is sent again and answers 0: that must not read as a lock that was lost.
func TestDelIfEqualWithALostReplyIsUnconfirmed(t *testing.T) {
	noLeaks(t)
	proxy := faultproxy.New(t, testserver.Redis(t))
	client := single(t, proxy.Addr())
	client.Set(t.Context(), "warm", "v", time.Minute)
	if err := redislock.DelIfEqual(t.Context(), client, "warm", "v"); err != nil { // the server knows the script
		t.Fatal(err)
	}
	client.Set(t.Context(), "k", "v", time.Minute)
	proxy.DropReplies(1)
	err := redislock.DelIfEqual(t.Context(), client, "k", "v")
	if !errors.Is(err, lock.ErrUnconfirmed) || errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("%v, want ErrUnconfirmed", err)
	}
	if left := keys(t, client); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
