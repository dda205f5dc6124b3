// Package locktoken moves stock between shelves. A shelf is locked while somebody moves stock.
package locktoken

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/locktoken/shelflock"
)

var (
	errBusy = errors.New("somebody moves stock on this shelf")
	errLost = errors.New("the shelf was not ours any more")
)

const lease = time.Minute

// Move is the work under the lock.
type Move func(ctx context.Context) error

const freeText = `
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`

var (
	freeScript  = redisv9.NewScript(freeText)
	freeScript8 = redisv8.NewScript(freeText)
	freeRedigo  = redis.NewScript(1, freeText)
	freeRueidis = rueidis.NewLuaScript(freeText)

	extendScript = redisv9.NewScript(`
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)
)

func lockKey(shelf string) string { return "lock:shelf:" + shelf }

// freed turns the answer of a script, 1 or 0, into an error.
func freed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

func free(ctx context.Context, client redisv9.Scripter, shelf string, token any) error {
	return freed(freeScript.Run(context.WithoutCancel(ctx), client, []string{lockKey(shelf)}, token).Int64())
}

// Constant compares a value that all holders have.
func Constant(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	got, err := client.SetNX(ctx, lockKey(shelf), "locked", lease).Result() // want `SET.* gives the lock a value that another holder can have.*random`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, free(ctx, client, shelf, "locked"))
}

// Seconds compares the second in which the lock was taken.
func Seconds(ctx context.Context, client *redisv9.Client, shelf string, move Move) (err error) {
	token := strconv.FormatInt(time.Now().Unix(), 10)
	got, err := client.SetNX(ctx, lockKey(shelf), token, lease).Result() // want `SET.* gives the lock a value that another holder can have`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer func() { err = errors.Join(err, free(ctx, client, shelf, token)) }()
	return move(ctx)
}

// Deadline compares the second at which the lease is over.
func Deadline(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	until := time.Now().Add(lease).Unix()
	err := client.SetArgs(ctx, lockKey(shelf), until, redisv9.SetArgs{Mode: "NX", TTL: lease}).Err() // want `SET.* gives the lock a value that another holder can have`
	if errors.Is(err, redisv9.Nil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, free(ctx, client, shelf, until))
}

// Mover has the process's number for a token: in a container that is 1.
type Mover struct {
	client redisv9.UniversalClient
	shelf  string
	pid    int
}

// NewMover makes the mover of a shelf.
func NewMover(client redisv9.UniversalClient, shelf string) *Mover {
	return &Mover{client: client, shelf: shelf, pid: os.Getpid()}
}

// Acquire reports whether the shelf is ours now.
func (m *Mover) Acquire(ctx context.Context) (bool, error) {
	return m.client.SetNX(ctx, lockKey(m.shelf), m.pid, lease).Result() // want `SET.* gives the lock a value that another holder can have`
}

// Extend lengthens our lease.
func (m *Mover) Extend(ctx context.Context) error {
	return freed(extendScript.Run(ctx, m.client, []string{lockKey(m.shelf)}, m.pid, lease.Milliseconds()).Int64())
}

// Release gives the shelf back.
func (m *Mover) Release(ctx context.Context) error { return free(ctx, m.client, m.shelf, m.pid) }

// Host returns the function that unlocks, with the machine's name for a token.
func Host(ctx context.Context, client redisv9.UniversalClient, shelf string) (unlock func() error, err error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	got, err := client.SetNX(ctx, lockKey(shelf), host, lease).Result() // want `SET.* gives the lock a value that another holder can have`
	if err != nil {
		return nil, err
	}
	if !got {
		return nil, errBusy
	}
	return func() error { return free(ctx, client, shelf, host) }, nil
}

const tool = "stockmover"

// AcrossPackages gives another package a token that all have.
func AcrossPackages(ctx context.Context, client *redisv9.Client, shelf string, move Move) error {
	got, err := shelflock.Take(ctx, client, shelf, tool) // want `SET.* gives the lock a value that another holder can have`
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	moveErr := move(ctx)
	if ok, err := shelflock.Free(ctx, client, shelf, tool); err != nil || !ok {
		return errors.Join(moveErr, err, errLost)
	}
	return moveErr
}

// Redigo compares in the program, which is getdel's matter; the value is this rule's.
func Redigo(ctx context.Context, conn redis.Conn, shelf string, move Move) error {
	token := fmt.Sprintf("mover-%d", os.Getpid())
	answer, err := conn.Do("SET", lockKey(shelf), token, "NX", "EX", 60) // want `SET.* gives the lock a value that another holder can have`
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, freed(redis.Int64(freeRedigo.Do(conn, lockKey(shelf), token))))
}

// V8 does the same as Constant with the client that came before.
func V8(ctx context.Context, client *redisv8.Client, shelf string, move Move) error {
	if got, err := client.SetNX(ctx, lockKey(shelf), true, lease).Result(); err != nil || !got { // want `SET.* gives the lock a value that another holder can have`
		return errors.Join(err, errBusy)
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, freed(freeScript8.Run(ctx, client, []string{lockKey(shelf)}, true).Int64()))
}

// Rueidis does the same with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, shelf string, move Move) error {
	set := client.B().Set().Key(lockKey(shelf)).Value("1").Nx().Px(lease).Build()
	switch err := client.Do(ctx, set).Error(); { // want `SET.* gives the lock a value that another holder can have`
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	moveErr := move(ctx)
	return errors.Join(moveErr, freed(freeRueidis.Exec(ctx, client, []string{lockKey(shelf)}, []string{"1"}).AsInt64()))
}
