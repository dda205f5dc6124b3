package withruntime

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// PrintLeased holds a lease in Redis, and looks at it once more before the step that must not overlap.
func PrintLeased(ctx context.Context, client redis.UniversalClient, press string, prepare, print func(context.Context) error) (err error) {
	locker, err := redislock.New(client)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close()) }()
	return locker.Do(ctx, lock.NewKey("printshop", press), func(ctx context.Context) error {
		if err := prepare(ctx); err != nil {
			return err
		}
		if err := lock.Guard(ctx); err != nil {
			return err
		}
		return print(ctx)
	})
}
