// Package getdel imports price lists. Of each supplier one list is imported at a time, by whichever
// instance of the program has the supplier's lock.
package getdel

import (
	"context"
	"errors"
	"fmt"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/getdel/kv"
)

var (
	errBusy = errors.New("another import of this supplier runs")
	errLost = errors.New("the supplier's lock was not ours any more")
)

const lease = 30 * time.Second

// Import is the work under the lock.
type Import func(ctx context.Context) error

// Inline takes and frees the lock in one function.
func Inline(ctx context.Context, client *redisv9.Client, supplier string, run Import) error {
	key := "import:lock:" + supplier
	token := uuid.NewString()
	got, err := client.SetNX(ctx, key, token, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer func() {
		end := context.WithoutCancel(ctx)
		if client.Get(end, key).Val() == token {
			client.Del(end, key) // want `DEL.* runs after a GET and a comparison.*DelIfEqual`
		}
	}()
	return run(ctx)
}

// Importer has its lock in its fields.
type Importer struct {
	client redisv9.UniversalClient
	key    string
	token  string
}

// NewImporter makes the importer of a supplier.
func NewImporter(client redisv9.UniversalClient, supplier string) *Importer {
	return &Importer{client: client, key: fmt.Sprintf("importer:%s", supplier), token: uuid.NewString()}
}

// Acquire reports whether the supplier's lock is ours now.
func (i *Importer) Acquire(ctx context.Context) (bool, error) {
	return i.client.SetNX(ctx, i.key, i.token, lease).Result()
}

// Release gives the lock back, with one early return for each way to have lost it.
func (i *Importer) Release(ctx context.Context) error {
	holder, err := i.client.Get(ctx, i.key).Result()
	if errors.Is(err, redisv9.Nil) {
		return errLost
	}
	if err != nil {
		return err
	}
	if holder != i.token {
		return errLost
	}
	_, err = i.client.Del(ctx, i.key).Result() // want `DEL.* runs after a GET`
	return err
}

func lockKey(supplier string) string { return fmt.Sprintf("suppliers/%s/lock", supplier) }

// Lock returns the function that unlocks.
func Lock(ctx context.Context, client redisv9.Cmdable, supplier string) (unlock func(context.Context) error, err error) {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(supplier), token, lease).Result()
	switch {
	case err != nil:
		return nil, err
	case !got:
		return nil, errBusy
	}
	return func(ctx context.Context) error {
		switch holder, err := client.Get(ctx, lockKey(supplier)).Result(); {
		case err == redisv9.Nil || err == nil && holder != token:
			return errLost
		case err != nil:
			return err
		}
		return client.Unlink(ctx, lockKey(supplier)).Err() // want `(UNLINK|DEL).* runs after a GET`
	}, nil
}

// Queued sends the DEL in a MULTI of which the GET is no part: without WATCH nothing ties them.
func Queued(ctx context.Context, client *redisv9.Client, supplier string, run Import) (err error) {
	token := uuid.NewString()
	err = client.SetArgs(ctx, lockKey(supplier), token, redisv9.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redisv9.Nil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer func() {
		end := context.WithoutCancel(ctx)
		holder, getErr := client.Get(end, lockKey(supplier)).Result()
		if getErr != nil || holder != token {
			err = errors.Join(err, errLost)
			return
		}
		_, execErr := client.TxPipelined(end, func(pipe redisv9.Pipeliner) error {
			pipe.Del(end, lockKey(supplier)) // want `DEL.* runs after a GET`
			return nil
		})
		err = errors.Join(err, execErr)
	}()
	return run(ctx)
}

// Locks is what the program needs of a client, and its own name for it.
type Locks interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Get(ctx context.Context, key string) (string, error)
	Del(ctx context.Context, key string) error
}

// ThroughInterface knows only the program's own interface.
func ThroughInterface(ctx context.Context, locks Locks, supplier string, run Import) error {
	token := uuid.NewString()
	got, err := locks.SetNX(ctx, lockKey(supplier), token, lease)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	runErr := run(ctx)
	holder, err := locks.Get(ctx, lockKey(supplier))
	if err != nil {
		return errors.Join(runErr, err)
	}
	if holder == token {
		err = locks.Del(ctx, lockKey(supplier)) // want `DEL.* runs after a GET`
	}
	return errors.Join(runErr, err)
}

// AcrossPackages sends nothing itself, nor does what it calls to release, which has all of the mistake.
func AcrossPackages(ctx context.Context, store *kv.Store, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	if got, err := store.Reserve(ctx, key, token, lease); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	defer releaseIn(context.WithoutCancel(ctx), store, key, token)
	return run(ctx)
}

func releaseIn(ctx context.Context, store *kv.Store, key, token string) {
	if holder, err := store.Value(ctx, key); err == nil && holder == token {
		store.Remove(ctx, key) // want `DEL.* runs after a GET`
	}
}

// Redigo does the same on a connection of redigo.
func Redigo(ctx context.Context, conn redis.Conn, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	answer, err := redis.String(conn.Do("SET", key, token, "NX", "PX", lease.Milliseconds()))
	if err == redis.ErrNil {
		return errBusy
	}
	if err != nil || answer != "OK" {
		return errors.Join(errBusy, err)
	}
	defer func() {
		holder, err := redis.String(conn.Do("GET", key))
		if err == nil && holder == token {
			conn.Do("DEL", key) // want `DEL.* runs after a GET`
		}
	}()
	return run(ctx)
}

// V8 does the same with the client that came before.
func V8(ctx context.Context, client *redisv8.Client, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	if !client.SetNX(ctx, key, token, lease).Val() {
		return errBusy
	}
	defer func() {
		if holder, err := client.Get(ctx, key).Result(); err == nil && holder == token {
			client.Del(ctx, key) // want `DEL.* runs after a GET`
		}
	}()
	return run(ctx)
}

// Rueidis does the same with rueidis's builders.
func Rueidis(ctx context.Context, client rueidis.Client, supplier string, run Import) error {
	key, token := lockKey(supplier), uuid.NewString()
	set := client.B().Set().Key(key).Value(token).Nx().Px(lease).Build()
	if err := client.Do(ctx, set).Error(); rueidis.IsRedisNil(err) {
		return errBusy
	} else if err != nil {
		return err
	}
	defer func() {
		holder, err := client.Do(ctx, client.B().Get().Key(key).Build()).ToString()
		if err == nil && holder == token {
			client.Do(ctx, client.B().Del().Key(key).Build()) // want `DEL.* runs after a GET`
		}
	}()
	return run(ctx)
}
