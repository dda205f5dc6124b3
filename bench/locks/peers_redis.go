package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	goredispool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var redisSubjects = []subject{
	{system: redisdb, library: "raw", variant: "2 EVALSHA return 1", floor: true, module: goredisModule,
		settings: "two EVALSHA of a script that does nothing, one go-redis client", open: rawEvalsha(`return 1`, `return 1`)},
	{system: redisdb, library: "raw", variant: twoScripts, floor: true, module: goredisModule,
		settings: "EVALSHA of SET NX PX, EVALSHA of compare and delete, one go-redis client",
		open: rawEvalsha(
			`return redis.call("set", KEYS[1], ARGV[1], "nx", "px", 30000)`,
			`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)},
	{system: redisdb, library: "redsync", variant: "defaults", module: "github.com/go-redsync/redsync/v4",
		settings: "expiry 8 s, 32 tries 50 to 250 ms apart, again when they are used up", open: openRedsync()},
	{system: redisdb, library: "redsync", variant: "tuned", module: "github.com/go-redsync/redsync/v4",
		settings: "tries 0.5 to 1.5 ms apart, without limit",
		open:     openRedsync(redsync.WithTries(1<<30), redsync.WithRetryDelayFunc(func(int) time.Duration { return shortDelay() }))},
	{system: redisdb, library: "bsm/redislock", variant: "defaults", module: "github.com/bsm/redislock",
		settings: "the library retries only when told to; LinearBackoff of 100 ms, as its examples have it",
		open:     openBSM(func() bsm.RetryStrategy { return bsm.LinearBackoff(100 * time.Millisecond) })},
	{system: redisdb, library: "bsm/redislock", variant: "tuned", module: "github.com/bsm/redislock",
		settings: "tries 0.5 to 1.5 ms apart", open: openBSM(func() bsm.RetryStrategy { return shortBackoff{} })},
	{system: redisdb, library: "rueidislock", variant: "defaults", module: "github.com/redis/rueidis",
		settings: "majority of 3 keys, all on this server; validity 5 s; waits for invalidations", open: openRueidis(rueidislock.LockerOption{})},
	{system: redisdb, library: "rueidislock", variant: "tuned", module: "github.com/redis/rueidis",
		settings: "KeyMajority 1 (one key), NoLoopTracking", open: openRueidis(rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true})},
}

// twoScripts is the floor that redislock has a goal for: what a lock cannot do without.
const twoScripts = "2 EVALSHA set, del"

const goredisModule = "github.com/redis/go-redis/v9"

// leaseTime is the expiry where the library has no default.
const leaseTime = 30 * time.Second

// shortDelay is how long a tuned library that polls waits between tries: about as long as the longer of
// the holds, at random so that contenders do not march in step.
func shortDelay() time.Duration {
	return 500*time.Microsecond + rand.N(time.Millisecond)
}

// rawEvalsha runs two scripts in place of acquire and release.
func rawEvalsha(first, second string) func(context.Context, address, string) (client, error) {
	return func(ctx context.Context, at address, key string) (client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: string(at)})
		scripts := [2]string{first, second}
		var sums [2]string
		for i, text := range scripts {
			sum, err := rdb.ScriptLoad(ctx, text).Result()
			if err != nil {
				rdb.Close()
				return client{}, err
			}
			sums[i] = sum
		}
		keys := []string{key}
		run := func(ctx context.Context, sum string) error { return rdb.EvalSha(ctx, sum, keys, "token").Err() }
		again := func(ctx context.Context) error { return run(ctx, sums[1]) }
		return client{
			contender: same(func(ctx context.Context) (release, error) { return again, run(ctx, sums[0]) }),
			close:     func() { rdb.Close() },
		}, nil
	}
}

// openRedsync uses one mutex for each lock taken, as the library's documentation does.
func openRedsync(options ...redsync.Option) func(context.Context, address, string) (client, error) {
	return func(_ context.Context, at address, key string) (client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: string(at)})
		rs := redsync.New(goredispool.NewPool(rdb))
		return client{
			contender: same(func(ctx context.Context) (release, error) {
				m := rs.NewMutex(key, options...)
				for {
					err := m.LockContext(ctx)
					if err == nil {
						break
					}
					// Tries used up, the last of them because someone else had the lock.
					var taken *redsync.ErrTaken
					if ctx.Err() != nil || !errors.Is(err, redsync.ErrFailed) && !errors.As(err, &taken) {
						return nil, err
					}
				}
				return func(ctx context.Context) error {
					ok, err := m.UnlockContext(ctx)
					if err == nil && !ok {
						err = errors.New("redsync: unlock answered false")
					}
					return err
				}, nil
			}),
			close: func() { rdb.Close() },
		}, nil
	}
}

// shortBackoff is a RetryStrategy that never gives up.
type shortBackoff struct{}

func (shortBackoff) NextBackoff() time.Duration { return shortDelay() }

func openBSM(strategy func() bsm.RetryStrategy) func(context.Context, address, string) (client, error) {
	return func(_ context.Context, at address, key string) (client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: string(at)})
		locker := bsm.New(rdb)
		return client{
			contender: same(func(ctx context.Context) (release, error) {
				for {
					// Without a deadline Obtain ends after the lease's time, by an error of its own context.
					l, err := locker.Obtain(ctx, key, leaseTime, &bsm.Options{RetryStrategy: strategy()})
					switch {
					case err == nil:
						return l.Release, nil
					case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
						return nil, err
					}
				}
			}),
			close: func() { rdb.Close() },
		}, nil
	}
}

// openRueidis opens a locker. Its release is a CancelFunc that waits for the server and gives no error;
// whether the lock was lost before, the context that came with it says.
func openRueidis(option rueidislock.LockerOption) func(context.Context, address, string) (client, error) {
	return func(_ context.Context, at address, key string) (client, error) {
		option := option
		option.ClientOption = rueidis.ClientOption{InitAddress: []string{string(at)}}
		locker, err := rueidislock.NewLocker(option)
		if err != nil {
			return client{}, err
		}
		return client{
			contender: same(func(ctx context.Context) (release, error) {
				held, cancel, err := locker.WithContext(ctx, key)
				if err != nil {
					return nil, err
				}
				return func(context.Context) error {
					lost := context.Cause(held)
					if cancel(); lost != nil && ctx.Err() == nil {
						return fmt.Errorf("rueidislock: lost while held: %w", lost)
					}
					return nil
				}, nil
			}),
			close: locker.Close,
		}, nil
	}
}
