package nottl

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/testdata/src/nottl/sendlock"
)

// InOneCommand sets the expiry with the acquire.
func InOneCommand(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	got, err := client.SetNX(ctx, lockKey(issue), token, lease).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// InArguments does the same with SetArgs.
func InArguments(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	err := client.SetArgs(ctx, lockKey(issue), token, redisv9.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redisv9.Nil) {
		return errBusy
	}
	if err != nil {
		return err
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// InOneMulti sends SETNX and EXPIRE in one MULTI. The EXPIRE of one who is refused shortens or extends
// the holder's lease, but none stays without one. SETNX by Do, since SetNX has an expiry itself.
func InOneMulti(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	var taken *redisv9.Cmd
	_, err := client.TxPipelined(ctx, func(pipe redisv9.Pipeliner) error {
		taken = pipe.Do(ctx, "SETNX", lockKey(issue), token)
		pipe.Expire(ctx, lockKey(issue), lease)
		return nil
	})
	if err != nil {
		return err
	}
	if n, err := taken.Int64(); err != nil || n == 0 {
		return errors.Join(err, errBusy)
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

var take = redisv9.NewScript(`
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
return 0`)

// InOneScript sends SETNX and PEXPIRE in one script.
func InOneScript(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	token := uuid.NewString()
	n, err := take.Run(ctx, client, []string{lockKey(issue)}, token, lease.Milliseconds()).Int()
	if err != nil {
		return err
	}
	if n == 0 {
		return errBusy
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// Asked leaves the expiry to its caller, and hands it to another package.
func Asked(ctx context.Context, client *redisv9.Client, issue string, ttl time.Duration, send Send) error {
	token, got, err := sendlock.TryLock(ctx, client, issue, ttl)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	sendErr := send(ctx)
	if ok, err := sendlock.Unlock(ctx, client, issue, token); err != nil || !ok {
		return errors.Join(sendErr, err, errLost)
	}
	return sendErr
}

// Sender has its expiry from a configuration.
type Sender struct {
	Client redisv9.UniversalClient
	Lease  time.Duration
}

// Send sends an issue.
func (s *Sender) Send(ctx context.Context, issue string, send Send) error {
	token := uuid.NewString()
	if got, err := s.Client.SetNX(ctx, lockKey(issue), token, s.Lease).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(send(ctx), free(ctx, s.Client, lockKey(issue), token))
}

// Guarded never asks for none.
func Guarded(ctx context.Context, client *redisv9.Client, issue string, minutes int, send Send) error {
	ttl := time.Duration(minutes) * time.Minute
	if ttl <= 0 {
		ttl = lease
	}
	token := uuid.NewString()
	if got, err := client.SetNX(ctx, lockKey(issue), token, ttl).Result(); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(send(ctx), free(ctx, client, lockKey(issue), token))
}

// RedigoArguments spreads the command from a slice.
func RedigoArguments(ctx context.Context, conn redis.Conn, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	args := []any{key, token, "NX"}
	args = append(args, "PX", lease.Milliseconds())
	answer, err := conn.Do("SET", args...)
	if err != nil {
		return err
	}
	if answer == nil {
		return errBusy
	}
	return errors.Join(send(ctx), freed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// RedigoMulti sends SETNX and EXPIRE in one MULTI.
func RedigoMulti(ctx context.Context, conn redis.Conn, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	conn.Send("MULTI")
	conn.Send("SETNX", key, token)
	conn.Send("EXPIRE", key, int(lease.Seconds()))
	replies, err := redis.Ints(conn.Do("EXEC"))
	if err != nil {
		return err
	}
	if replies[0] == 0 {
		return errBusy
	}
	return errors.Join(send(ctx), freed(redis.Int64(freeRedigo.Do(conn, key, token))))
}

// RueidisExpiring sets the expiry with the acquire.
func RueidisExpiring(ctx context.Context, client rueidis.Client, issue string, send Send) error {
	key, token := lockKey(issue), uuid.NewString()
	set := client.B().Set().Key(key).Value(token).Nx().Px(lease).Build()
	switch err := client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return errBusy
	case err != nil:
		return err
	}
	return errors.Join(send(ctx), freed(freeRueidis.Exec(ctx, client, []string{key}, []string{token}).AsInt64()))
}

// Delivered marks that a reader has an issue, for ever: it is no lock, and nothing waits for its end.
func Delivered(ctx context.Context, client *redisv9.Client, issue, reader string) (first bool, err error) {
	return client.SetNX(ctx, "delivered:"+issue+":"+reader, 1, 0).Result()
}

// Halt stops all sending until somebody resumes it.
func Halt(ctx context.Context, client *redisv9.Client) error {
	return client.SetNX(ctx, "newsletter:halted", time.Now().Unix(), 0).Err()
}

// Resume ends a halt.
func Resume(ctx context.Context, client *redisv9.Client) error {
	return client.Del(ctx, "newsletter:halted").Err()
}

// NextNumber counts issues, from the first number that somebody gives.
func NextNumber(ctx context.Context, client *redisv9.Client, first int) (int64, error) {
	if err := client.SetNX(ctx, "newsletter:number", first-1, 0).Err(); err != nil {
		return 0, err
	}
	return client.Incr(ctx, "newsletter:number").Result()
}
