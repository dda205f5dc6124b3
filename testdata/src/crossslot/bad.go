// Package crossslot books seats. A booking takes the seat's lock together with a counter, a queue or
// a second seat.
package crossslot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const leaseTTL = time.Minute

var (
	errBusy    = errors.New("seat is being booked")
	errNotHeld = errors.New("seat was not locked")
)

// Book is the work under the lock. Number grows with each grant of the seat.
type Book func(ctx context.Context, number int64) error

// takeNumbered takes the lock and counts its grants; it answers the number, or 0 when it is taken.
var takeNumbered = redis.NewScript(`
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("INCR", KEYS[2])
end
return 0`)

// freeOne is the release of one lock, freeTwo that of two.
var freeOne = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

const freeTwo = `
local freed = 0
for _, key in ipairs(KEYS) do
	if redis.call("GET", key) == ARGV[1] then
		freed = freed + redis.call("DEL", key)
	end
end
return freed`

// Numbered has the counter beside the lock, and in another slot.
func Numbered(ctx context.Context, cluster *redis.ClusterClient, seat string, book Book) error {
	token := uuid.NewString()
	keys := []string{"seat:lock:" + seat, "seat:grants:" + seat}
	number, err := takeNumbered.Run(ctx, cluster, keys, token, leaseTTL.Milliseconds()).Int64() // want `keys of the script share no hash tag`
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, cluster, keys[0], token))
}

func free(ctx context.Context, rdb redis.Scripter, key, token string) error {
	n, err := freeOne.Run(context.WithoutCancel(ctx), rdb, []string{key}, token).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

// Seats takes seats two at a time.
type Seats struct {
	cluster *redis.ClusterClient
}

// OpenSeats connects to the cluster that addrs are of.
func OpenSeats(addrs []string) *Seats {
	return &Seats{cluster: redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})}
}

// Close ends the connections.
func (s *Seats) Close() error { return s.cluster.Close() }

func seatLock(hall, seat int) string { return fmt.Sprintf("lock:hall-%d:seat-%d", hall, seat) }

func (s *Seats) take(ctx context.Context, key, token string) error {
	ok, err := s.cluster.SetNX(ctx, key, token, leaseTTL).Result()
	if err == nil && !ok {
		err = errBusy
	}
	return err
}

// Pair takes a seat and the one beside it, one after the other, and frees both at once.
func (s *Seats) Pair(ctx context.Context, hall, seat int, book Book) error {
	token := uuid.NewString()
	keys := []string{seatLock(hall, seat), seatLock(hall, seat+1)}
	for _, key := range keys {
		if err := s.take(ctx, key, token); err != nil {
			return err
		}
	}
	bookErr := book(ctx, 2)
	freed, err := s.cluster.Eval(context.WithoutCancel(ctx), freeTwo, []string{seatLock(hall, seat), seatLock(hall, seat+1)}, token).Int() // want `keys of the script share no hash tag`
	if err == nil && freed != len(keys) {
		err = errNotHeld
	}
	return errors.Join(bookErr, err)
}

// free and a queue: the release tells who waits.
const freeAndTell = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
	redis.call("LPUSH", KEYS[2], "free")
	return redis.call("DEL", KEYS[1])
end
return 0`

// Told frees the lock and tells the next in the queue, whose key only ends like the lock's.
func (s *Seats) Told(ctx context.Context, hall, seat int, book Book) error {
	token, key := uuid.NewString(), seatLock(hall, seat)
	if err := s.take(ctx, key, token); err != nil {
		return err
	}
	bookErr := book(ctx, 1)
	freed, err := s.cluster.Eval(context.WithoutCancel(ctx), freeAndTell, []string{key, "queue:" + key}, token).Int() // want `keys of the script share no hash tag`
	if err == nil && freed != 1 {
		err = errNotHeld
	}
	return errors.Join(bookErr, err)
}

// WrongTags has braces, round what differs: a tag is what must be the same.
func WrongTags(ctx context.Context, cluster *redis.ClusterClient, seat string, book Book) error {
	token := uuid.NewString()
	number, err := takeNumbered.Run(ctx, cluster, []string{"{lock}:" + seat, "{grants}:" + seat}, token, leaseTTL.Milliseconds()).Int64() // want `keys of the script share no hash tag`
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, cluster, "{lock}:"+seat, token))
}

// ForceFree frees a seat and the one beside it, whoever has them: the operator asked for it.
func (s *Seats) ForceFree(ctx context.Context, hall, seat int) error {
	return s.cluster.Unlink(ctx, seatLock(hall, seat), seatLock(hall, seat+1)).Err() // want `keys of UNLINK share no hash tag`
}
