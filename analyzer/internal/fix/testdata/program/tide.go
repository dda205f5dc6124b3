package program

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const tide = 6 * time.Hour

var leave = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

// left releases a basin in the right way.
func left(ctx context.Context, client *redis.Client, basin, ship string) error {
	n, err := leave.Run(ctx, client, []string{"lock:" + basin}, ship).Int64()
	if err == nil && n == 0 {
		err = errTaken
	}
	return err
}

// Anchor sets the expiry in a second command.
func Anchor(ctx context.Context, client *redis.Client, basin, ship string, work func() error) error {
	free, err := client.SetNX(ctx, "lock:"+basin, ship, 0).Result()
	if err != nil {
		return err
	}
	if !free {
		return errTaken
	}
	if err := client.Expire(ctx, "lock:"+basin, tide).Err(); err != nil {
		return errors.Join(err, left(ctx, client, basin, ship))
	}
	failed := work()
	return errors.Join(failed, left(context.WithoutCancel(ctx), client, basin, ship))
}

// Turn releases, in a defer, with a context that may be over by then.
func Turn(ctx context.Context, client *redis.Client, basin, ship string, work func() error) (err error) {
	free, err := client.SetNX(ctx, "lock:"+basin, ship, tide).Result()
	if err != nil {
		return err
	}
	if !free {
		return errTaken
	}
	defer func() { err = errors.Join(err, left(ctx, client, basin, ship)) }()
	return work()
}
