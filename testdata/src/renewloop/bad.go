// Package renewloop records cameras, each by one recorder of several. A recorder keeps its camera's
// lock alive for as long as it records.
package renewloop

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const leaseTTL = 120 * time.Millisecond

var (
	errBusy = errors.New("camera is recorded elsewhere")
	errLost = errors.New("camera was not locked any more")
)

// Record is the work under the lock.
type Record func(ctx context.Context) error

var (
	freeScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)
	keepScript = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)
)

func lockKey(camera string) string { return "camera:lock:" + camera }

// free takes 0, which is no error, for the loss that it is.
func free(ctx context.Context, rdb redis.Scripter, camera, token string) error {
	n, err := freeScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(camera)}, token).Int()
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

// Endless renews for ever. A recording that failed keeps its lock on purpose, so that the camera has a
// rest of one TTL; the rest never ends.
func Endless(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	go func() { // want `nothing ends this goroutine`
		for {
			time.Sleep(leaseTTL / 3)
			if err := keepScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds()).Err(); err != nil {
				log.Printf("camera %s: %v", camera, err)
			}
		}
	}()
	if err := record(ctx); err != nil {
		return err
	}
	return free(ctx, rdb, camera, token)
}

// UnclosedStop waits for a stop that nobody gives.
func UnclosedStop(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	stop := make(chan struct{})
	go func() { // want `nothing ends this goroutine`
		ticker := time.NewTicker(leaseTTL / 3)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				keepScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds())
			}
		}
	}()
	if err := record(ctx); err != nil {
		return err
	}
	return free(ctx, rdb, camera, token)
}

// Camera is a lock that is kept alive from its Claim to its Free.
type Camera struct {
	rdb    redis.UniversalClient
	name   string
	token  string
	ticker *time.Ticker
}

// Claim takes the lock and starts its renewal.
func (c *Camera) Claim(ctx context.Context) error {
	c.token = uuid.NewString()
	ok, err := c.rdb.SetNX(ctx, lockKey(c.name), c.token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	c.ticker = time.NewTicker(leaseTTL / 3)
	go c.keepAlive() // want `nothing ends this goroutine`
	return nil
}

// keepAlive ranges over the ticks. A ticker that is stopped sends no more and does not close its
// channel.
func (c *Camera) keepAlive() {
	for range c.ticker.C {
		keepScript.Run(context.Background(), c.rdb, []string{lockKey(c.name)}, c.token, leaseTTL.Milliseconds())
	}
}

// Free stops the ticker and gives the lock back.
func (c *Camera) Free(ctx context.Context) error {
	c.ticker.Stop()
	return free(ctx, c.rdb, c.name, c.token)
}

// LateTicks renews one and a half leases after it took the lock.
func LateTicks(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	keepCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ticker := time.NewTicker(leaseTTL * 3 / 2) // want `no sooner than it expires`
		defer ticker.Stop()
		for {
			select {
			case <-keepCtx.Done():
				return
			case <-ticker.C:
				keepScript.Run(keepCtx, rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds())
			}
		}
	}()
	return errors.Join(record(ctx), free(ctx, rdb, camera, token))
}

// LateSleep takes the length of the lease for the time between two renewals.
func LateSleep(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	keepCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for keepCtx.Err() == nil {
			time.Sleep(leaseTTL) // want `no sooner than it expires`
			keepScript.Run(keepCtx, rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds())
		}
	}()
	return errors.Join(record(ctx), free(ctx, rdb, camera, token))
}

// Refreshed gives the loop a context that nothing cancels.
func Refreshed(ctx context.Context, locks *redislock.Client, camera string, record Record) error {
	held, err := locks.Obtain(ctx, lockKey(camera), leaseTTL, nil)
	if err != nil {
		return errors.Join(errBusy, err)
	}
	go refresh(context.Background(), held) // want `nothing ends this goroutine`
	if err := record(ctx); err != nil {
		return err
	}
	return held.Release(context.WithoutCancel(ctx))
}

// refresh ends with its context and with nothing else.
func refresh(ctx context.Context, held *redislock.Lock) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(leaseTTL / 3):
			if err := held.Refresh(ctx, leaseTTL, nil); err != nil {
				log.Print(err)
			}
		}
	}
}

// ExtendedLate extends a mutex as often as it expires.
func ExtendedLate(ctx context.Context, rs *redsync.Redsync, camera string, record Record) (err error) {
	mutex := rs.NewMutex(lockKey(camera), redsync.WithExpiry(leaseTTL))
	if err := mutex.TryLockContext(ctx); err != nil {
		return errors.Join(errBusy, err)
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(leaseTTL + leaseTTL/2) // want `no sooner than it expires`
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if ok, err := mutex.ExtendContext(ctx); !ok {
					log.Print(err)
				}
			case <-done:
				return
			}
		}
	}()
	defer func() {
		close(done)
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	return record(ctx)
}
