package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// dropInTimeout bounds the functions that need no Locker.
const dropInTimeout = 5 * time.Second

// DelIfEqual deletes key if its value is value, in one step: the release of a lock that was taken with
// SET NX and this value. It is sent although ctx has ended, of which only the values count, and takes at
// most 5 s.
//
// Value is encoded as by go-redis's Set. Nil says that the key was deleted by this call. The error
// wraps lock.ErrNotHeld, and names the key, when the value differed or the key was gone, so that
// another may have held the lock; lock.ErrUnconfirmed when the server did not say.
func DelIfEqual(ctx context.Context, client redis.Scripter, key string, value any) error {
	r, err := dropIn(context.WithoutCancel(ctx), client, releaseScript, untilEnd, key, value)
	if err == nil {
		err = released(r, key)
	}
	if err != nil {
		return fmt.Errorf("redis: delete if equal: %w", err)
	}
	return nil
}

// ExpireIfEqual sets the time to live of key if its value is value, in one step: the renewal of a lock
// that was taken with SET NX and this value. It ends with ctx, and takes at most 5 s.
//
// Value is encoded as by go-redis's Set. Nil says that it was done. The error wraps lock.ErrNotHeld, and
// names the key, when the value differed or the key was gone, so that another may hold the lock now;
// lock.ErrInvalid when ttl is less than 1 ms, which would delete the key. Fractions of a millisecond do
// not count.
func ExpireIfEqual(ctx context.Context, client redis.Scripter, key string, value any, ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("redis: expire if equal %q: %w: ttl %v is less than 1 ms", key, lock.ErrInvalid, ttl)
	}
	r, err := dropIn(ctx, client, renewScript, someTries, key, value, ttl.Milliseconds())
	if err == nil {
		var n int64
		if n, err = r.Int64(); err == nil && n == 0 {
			err = lock.ErrNotHeld
		}
	}
	if err != nil {
		return fmt.Errorf("redis: expire if equal %q: %w", key, err)
	}
	return nil
}

// dropIn runs a script on one key. It returns in time whatever the client's timeouts are.
func dropIn(ctx context.Context, client redis.Scripter, s script, tries int, key string, args ...any) (reply, error) {
	if _, queues := client.(redis.Pipeliner); queues {
		return reply{}, fmt.Errorf("%w: a pipeline does not answer at once", lock.ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, dropInTimeout)
	defer cancel()
	c := call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.reply = dropInReply(ctx, client, s, tries, key, args)
	}()
	r, ok := c.wait(ctx)
	if !ok {
		return reply{}, fmt.Errorf("%w: %q: %w", lock.ErrUnconfirmed, key, context.Cause(ctx))
	}
	return r, nil
}

func dropInReply(ctx context.Context, client redis.Scripter, s script, tries int, key string, args []any) reply {
	if p, ok := client.(processor); ok {
		return s.run(ctx, p, tries, []string{key}, args...)
	}
	// Not one of go-redis's own: we don't hear of its retries.
	return reply{Cmd: s.Run(ctx, client, []string{key}, args...)}
}
