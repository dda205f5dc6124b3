package redislock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// hooked counts what goes through a client's hooks.
type hooked struct{ scripts, pipelines atomic.Int64 }

func (h *hooked) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hooked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			h.scripts.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (h *hooked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" {
			h.pipelines.Add(1)
		}
		return next(ctx, cmds)
	}
}

// What a program put around its client, to trace or to count, is around every request of a lock: a clone
// of the client with other timeouts (WithTimeout) would have no hooks.
func TestHooksOfTheClientSeeEveryRequest(t *testing.T) {
	noLeaks(t)
	client := single(t, testserver.Redis(t))
	var hook hooked
	client.AddHook(&hook)
	l := locker(t, client, ttl(4*time.Second))
	key := lock.NewKey("hooks")
	for range 3 {
		if err := acquire(t, l, key).Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := hook.scripts.Load(); n != 6 {
		t.Errorf("%d scripts for three acquires and releases", n)
	}
	h := acquire(t, l, key)
	eventually(t, "a renewal", func() bool { return hook.pipelines.Load() > 0 })
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
