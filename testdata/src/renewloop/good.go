package renewloop

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Ended renews until the work is over.
func Ended(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		ticker := time.NewTicker(leaseTTL / 3)
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
	if err := record(ctx); err != nil {
		return err
	}
	return free(ctx, rdb, camera, token)
}

// EndedByRefusal has no stop: the release makes the next renewal answer 0, which ends the loop.
func EndedByRefusal(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	go func() {
		for {
			time.Sleep(leaseTTL / 3)
			n, err := keepScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds()).Int()
			if err != nil || n == 0 {
				return
			}
		}
	}()
	return errors.Join(record(ctx), free(ctx, rdb, camera, token))
}

// Steady is Camera with an end.
type Steady struct {
	rdb   redis.UniversalClient
	name  string
	token string
	stop  chan struct{}
	gone  sync.WaitGroup
}

// Claim takes the lock and starts its renewal.
func (s *Steady) Claim(ctx context.Context) error {
	s.token = uuid.NewString()
	ok, err := s.rdb.SetNX(ctx, lockKey(s.name), s.token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	s.stop = make(chan struct{})
	s.gone.Go(s.keepAlive)
	return nil
}

func (s *Steady) keepAlive() {
	ticker := time.NewTicker(leaseTTL / 3)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			keepScript.Run(context.Background(), s.rdb, []string{lockKey(s.name)}, s.token, leaseTTL.Milliseconds())
		}
	}
}

// Free ends the renewal before it gives the lock back.
func (s *Steady) Free(ctx context.Context) error {
	close(s.stop)
	s.gone.Wait()
	return free(ctx, s.rdb, s.name, s.token)
}

// Grouped ends with the group's context, which the end of the work cancels.
func Grouped(ctx context.Context, rdb *redis.Client, camera string, record Record) error {
	token := uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(camera), token, leaseTTL).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	workCtx, done := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(workCtx)
	group.Go(func() error {
		for {
			select {
			case <-groupCtx.Done():
				return nil
			case <-time.After(leaseTTL / 4):
			}
			n, err := keepScript.Run(groupCtx, rdb, []string{lockKey(camera)}, token, leaseTTL.Milliseconds()).Int()
			if err == nil && n == 0 {
				return errLost
			}
		}
	})
	group.Go(func() error {
		defer done()
		return record(groupCtx)
	})
	return errors.Join(group.Wait(), free(ctx, rdb, camera, token))
}

// RefreshedWhileRecording gives the loop a context that its caller cancels.
func RefreshedWhileRecording(ctx context.Context, locks *redislock.Client, camera string, record Record) error {
	held, err := locks.Obtain(ctx, lockKey(camera), leaseTTL, nil)
	if err != nil {
		return errors.Join(errBusy, err)
	}
	keepCtx, stop := context.WithCancel(ctx)
	defer stop()
	go refresh(keepCtx, held)
	if err := record(ctx); err != nil {
		return err
	}
	return held.Release(context.WithoutCancel(ctx))
}

// Extended extends a mutex in time.
func Extended(ctx context.Context, rs *redsync.Redsync, camera string, record Record) (err error) {
	mutex := rs.NewMutex(lockKey(camera), redsync.WithExpiry(leaseTTL))
	if err := mutex.TryLockContext(ctx); err != nil {
		return errors.Join(errBusy, err)
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(leaseTTL / 3)
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

// Presence is no lock: it says for ever that this recorder is alive, which is meant to end with the
// process.
func Presence(rdb *redis.Client, recorder string) {
	go func() {
		for range time.Tick(leaseTTL / 3) {
			rdb.Set(context.Background(), "recorder:alive:"+recorder, time.Now().Unix(), leaseTTL)
		}
	}()
}
