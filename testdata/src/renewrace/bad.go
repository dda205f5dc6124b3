// Package renewrace transcodes videos. A video is transcoded by one machine at a time, for longer than
// the lease lasts, so that the machine renews it.
package renewrace

import (
	"context"
	"errors"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/renewrace/kv"
)

var (
	errBusy = errors.New("another machine transcodes this video")
	errLost = errors.New("the video was not ours any more")
)

const lease = 24 * time.Hour

// Transcode is the work under the lock.
type Transcode func(ctx context.Context) error

const freeText = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`

var (
	freeScript  = redisv9.NewScript(freeText)
	freeScript8 = redisv8.NewScript(freeText)
	freeRedigo  = redis.NewScript(1, freeText)
	freeRueidis = rueidis.NewLuaScript(freeText)
)

func lockKey(video string) string { return "transcode:" + video + ":lock" }

// changed turns the answer of a script, 1 or 0, into an error.
func changed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

func take(ctx context.Context, client redisv9.Cmdable, video string) (token string, err error) {
	token = uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(video), token, lease).Result()
	if err == nil && !got {
		err = errBusy
	}
	return token, err
}

func free(ctx context.Context, client redisv9.Scripter, video, token string) error {
	return changed(freeScript.Run(context.WithoutCancel(ctx), client, []string{lockKey(video)}, token).Int64())
}

// Ticking renews in a goroutine, and looks at nothing.
func Ticking(ctx context.Context, client *redisv9.Client, video string, every time.Duration, work Transcode) error {
	token, err := take(ctx, client, video)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				client.Expire(ctx, lockKey(video), lease) // want `EXPIRE.* extends the lock whoever holds it.*ExpireIfEqual`
			}
		}
	}()
	workErr := work(ctx)
	return errors.Join(workErr, free(ctx, client, video, token))
}

// Careful compares before it renews, in two steps, and stops the work when the lock is another's.
func Careful(ctx context.Context, client *redisv9.Client, video string, every time.Duration, work Transcode) error {
	token, err := take(ctx, client, video)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go keep(ctx, client, video, token, every, stop)
	workErr := work(ctx)
	return errors.Join(workErr, free(ctx, client, video, token))
}

func keep(ctx context.Context, client *redisv9.Client, video, token string, every time.Duration, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		holder, err := client.Get(ctx, lockKey(video)).Result()
		if err != nil || holder != token {
			stop(errLost)
			return
		}
		if ok, err := client.PExpire(ctx, lockKey(video), lease).Result(); err != nil || !ok { // want `EXPIRE.* extends the lock whoever holds it`
			stop(errLost)
			return
		}
	}
}

// Machine has its lock in its fields.
type Machine struct {
	client redisv9.UniversalClient
	video  string
	token  string
}

// NewMachine makes the machine of a video.
func NewMachine(client redisv9.UniversalClient, video string) *Machine {
	return &Machine{client: client, video: video, token: uuid.NewString()}
}

func (m *Machine) key() string { return "machine:" + m.video }

// Acquire reports whether the video is ours now.
func (m *Machine) Acquire(ctx context.Context) (bool, error) {
	return m.client.SetNX(ctx, m.key(), m.token, lease).Result()
}

// Refresh reports whether it thinks that the video is still ours.
func (m *Machine) Refresh(ctx context.Context) (bool, error) {
	return m.client.Expire(ctx, m.key(), lease).Result() // want `EXPIRE.* extends the lock whoever holds it`
}

// Release gives the video back.
func (m *Machine) Release(ctx context.Context) error {
	return changed(freeScript.Run(ctx, m.client, []string{m.key()}, m.token).Int64())
}

// Lock returns two functions, one that extends the lease and one that ends it.
func Lock(ctx context.Context, client *redisv9.Client, video string) (extend, unlock func() error, err error) {
	token, err := take(ctx, client, video)
	if err != nil {
		return nil, nil, err
	}
	extend = func() error {
		if client.Get(ctx, lockKey(video)).Val() != token {
			return errLost
		}
		_, err := client.Pipelined(ctx, func(pipe redisv9.Pipeliner) error {
			pipe.ExpireAt(ctx, lockKey(video), time.Now().Add(lease)) // want `EXPIRE.* extends the lock whoever holds it`
			pipe.Incr(ctx, "extensions")
			return nil
		})
		return err
	}
	return extend, func() error { return free(ctx, client, video, token) }, nil
}

// AcrossPackages sends nothing itself.
func AcrossPackages(ctx context.Context, store kv.Store, video string, first, second Transcode) error {
	token := uuid.NewString()
	if got, err := store.Add(ctx, lockKey(video), token, lease); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	err := first(ctx)
	if err == nil && store.Is(ctx, lockKey(video), token) {
		err = store.Touch(ctx, lockKey(video), lease) // want `EXPIRE.* extends the lock whoever holds it`
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, free(ctx, store.Client, video, token))
}

// Leases is the program's own name for what it needs of a client.
type Leases interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Expire(ctx context.Context, key string, ttl time.Duration) error
	redisv9.Scripter
}

// ThroughInterface knows only the program's own interface.
func ThroughInterface(ctx context.Context, leases Leases, video string, first, second Transcode) error {
	token := uuid.NewString()
	if got, err := leases.SetNX(ctx, lockKey(video), token, lease); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	err := first(ctx)
	if err == nil {
		err = leases.Expire(ctx, lockKey(video), lease) // want `EXPIRE.* extends the lock whoever holds it`
	}
	if err == nil {
		err = second(ctx)
	}
	return errors.Join(err, free(ctx, leases, video, token))
}

// Redigo compares and extends on a connection of redigo.
func Redigo(ctx context.Context, conn redis.Conn, video string, first, second Transcode) error {
	key, token := lockKey(video), uuid.NewString()
	answer, err := conn.Do("SET", key, token, "NX", "PX", lease.Milliseconds())
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	err = first(ctx)
	if holder, getErr := redis.String(conn.Do("GET", key)); getErr == nil && holder == token {
		conn.Do("PEXPIRE", key, lease.Milliseconds()) // want `EXPIRE.* extends the lock whoever holds it`
		err = errors.Join(err, second(ctx))
	}
	return errors.Join(err, changed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// V8 extends with the client that came before.
func V8(ctx context.Context, client *redisv8.Client, video string, first, second Transcode) error {
	token := uuid.NewString()
	if got, err := client.SetNX(ctx, lockKey(video), token, lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	err := first(ctx)
	if ok, expireErr := client.Expire(ctx, lockKey(video), lease).Result(); expireErr == nil && ok { // want `EXPIRE.* extends the lock whoever holds it`
		err = errors.Join(err, second(ctx))
	}
	return errors.Join(err, changed(freeScript8.Run(ctx, client, []string{lockKey(video)}, token).Int64()))
}

// Rueidis extends with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, video string, first, second Transcode) error {
	key, token := lockKey(video), uuid.NewString()
	set := client.B().Set().Key(key).Value(token).Nx().Px(lease).Build()
	switch err := client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	err := first(ctx)
	extend := client.B().Expire().Key(key).Seconds(int64(lease.Seconds())).Build()
	if n, expireErr := client.Do(ctx, extend).AsInt64(); expireErr == nil && n == 1 { // want `EXPIRE.* extends the lock whoever holds it`
		err = errors.Join(err, second(ctx))
	}
	return errors.Join(err, changed(freeRueidis.Exec(ctx, client, []string{key}, []string{token}).AsInt64()))
}
