package locktoken

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/testdata/src/locktoken/shelflock"
)

// under holds the shelf under token while move runs.
func under(ctx context.Context, client *redisv9.Client, shelf, token string, move Move) error {
	got, err := client.SetNX(ctx, lockKey(shelf), token, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, free(ctx, client, shelf, token))
}

// UUID makes a token for each acquisition.
func UUID(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	return under(ctx, client, shelf, uuid.NewString(), move)
}

// Text does so with the standard library.
func Text(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	return under(ctx, client, shelf, rand.Text(), move)
}

// Bytes does so by hand.
func Bytes(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	return under(ctx, client, shelf, hex.EncodeToString(raw), move)
}

// Telling adds who it is to what is unique, for people to read.
func Telling(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	host, _ := os.Hostname()
	return under(ctx, client, shelf, fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString()), move)
}

// Numbered takes its token from a counter of the server.
func Numbered(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	n, err := client.Incr(ctx, "holders").Result()
	if err != nil {
		return err
	}
	return under(ctx, client, shelf, fmt.Sprint(n), move)
}

// Trolley has one token for all of its life: it never holds a shelf twice at once.
type Trolley struct {
	client redisv9.UniversalClient
	id     string
}

// NewTrolley makes a trolley.
func NewTrolley(client redisv9.UniversalClient) *Trolley {
	return &Trolley{client: client, id: uuid.NewString()}
}

// Acquire reports whether the shelf is the trolley's now.
func (t *Trolley) Acquire(ctx context.Context, shelf string) (bool, error) {
	return t.client.SetNX(ctx, lockKey(shelf), t.id, lease).Result()
}

// Release gives the shelf back.
func (t *Trolley) Release(ctx context.Context, shelf string) error {
	return free(ctx, t.client, shelf, t.id)
}

// instance is this process, and no other.
var instance = uuid.NewString()

// AsProcess takes the shelf for the process.
func AsProcess(ctx context.Context, conn redis.Conn, shelf string, move Move) error {
	answer, err := conn.Do("SET", lockKey(shelf), instance, "NX", "EX", 60)
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, freed(redis.Int64(freeRedigo.Do(conn, lockKey(shelf), instance))))
}

// Theirs uses a token that its caller made.
func Theirs(ctx context.Context, client *redisv9.Client, shelf, token string, move Move) error {
	got, err := shelflock.Take(ctx, client, shelf, token)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	moveErr := move(ctx)
	if ok, err := shelflock.Free(ctx, client, shelf, token); err != nil || !ok {
		return errors.Join(moveErr, err, errLost)
	}
	return moveErr
}

// Uncompared has the same value for all and compares nothing: that is blinddel's mistake alone.
func Uncompared(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	got, err := client.SetNX(ctx, lockKey(shelf), 1, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer client.Del(ctx, lockKey(shelf))
	return move(ctx)
}

// Counted marks that a delivery has been counted. Its value is read, as a date for people.
func Counted(ctx context.Context, client *redisv9.Client, delivery string, now time.Time) (since string, err error) {
	mark, today := "counted:"+delivery, now.Format(time.DateOnly)
	first, err := client.SetNX(ctx, mark, today, 30*24*time.Hour).Result()
	if err != nil || first {
		return today, err
	}
	return client.Get(ctx, mark).Result()
}
