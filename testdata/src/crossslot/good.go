package crossslot

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// NumberedTagged has the seat in braces in both keys.
func NumberedTagged(ctx context.Context, cluster *redis.ClusterClient, seat string, book Book) error {
	token := uuid.NewString()
	keys := []string{"seat:lock:{" + seat + "}", "seat:grants:{" + seat + "}"}
	number, err := takeNumbered.Run(ctx, cluster, keys, token, leaseTTL.Milliseconds()).Int64()
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, cluster, keys[0], token))
}

func taggedLock(hall, seat int) string { return fmt.Sprintf("lock:{hall-%d}:seat-%d", hall, seat) }

// PairTagged has the hall in braces, so that any two seats of a hall lie together.
func (s *Seats) PairTagged(ctx context.Context, hall, seat int, book Book) error {
	token := uuid.NewString()
	keys := []string{taggedLock(hall, seat), taggedLock(hall, seat+1)}
	for _, key := range keys {
		if err := s.take(ctx, key, token); err != nil {
			return err
		}
	}
	bookErr := book(ctx, 2)
	freed, err := s.cluster.Eval(context.WithoutCancel(ctx), freeTwo, keys, token).Int()
	if err == nil && freed != len(keys) {
		err = errNotHeld
	}
	return errors.Join(bookErr, err)
}

// ToldTagged has one tag for all: everything is in one slot, on one server.
func (s *Seats) ToldTagged(ctx context.Context, hall, seat int, book Book) error {
	token, suffix := uuid.NewString(), fmt.Sprintf("%d:%d", hall, seat)
	key := "{seats}:lock:" + suffix
	if err := s.take(ctx, key, token); err != nil {
		return err
	}
	bookErr := book(ctx, 1)
	freed, err := s.cluster.Eval(context.WithoutCancel(ctx), freeAndTell, []string{key, "{seats}:queue:" + suffix}, token).Int()
	if err == nil && freed != 1 {
		err = errNotHeld
	}
	return errors.Join(bookErr, err)
}

// OneByOne frees each lock with a command of its own.
func (s *Seats) OneByOne(ctx context.Context, hall, seat int, book Book) error {
	token := uuid.NewString()
	keys := []string{seatLock(hall, seat), seatLock(hall, seat+1)}
	for _, key := range keys {
		if err := s.take(ctx, key, token); err != nil {
			return err
		}
	}
	err := book(ctx, 2)
	for _, key := range keys {
		err = errors.Join(err, free(ctx, s.cluster, key, token))
	}
	return err
}

// OneServer is Numbered on a client that knows one server only.
func OneServer(ctx context.Context, rdb *redis.Client, seat string, book Book) error {
	token := uuid.NewString()
	keys := []string{"seat:lock:" + seat, "seat:grants:" + seat}
	number, err := takeNumbered.Run(ctx, rdb, keys, token, leaseTTL.Milliseconds()).Int64()
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, rdb, keys[0], token))
}

// Either may be given a cluster or one server; the caller knows.
func Either(ctx context.Context, rdb redis.UniversalClient, seat string, book Book) error {
	token := uuid.NewString()
	keys := []string{"seat:lock:" + seat, "seat:grants:" + seat}
	number, err := takeNumbered.Run(ctx, rdb, keys, token, leaseTTL.Milliseconds()).Int64()
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, rdb, keys[0], token))
}

// Named takes both keys from its caller, who may have put a tag into them.
func Named(ctx context.Context, cluster *redis.ClusterClient, lockKey, grantsKey string, book Book) error {
	token := uuid.NewString()
	number, err := takeNumbered.Run(ctx, cluster, []string{lockKey, grantsKey}, token, leaseTTL.Milliseconds()).Int64()
	if err != nil {
		return err
	}
	if number == 0 {
		return errBusy
	}
	return errors.Join(book(ctx, number), free(ctx, cluster, lockKey, token))
}

// ForceFreeTagged frees two seats that lie together.
func (s *Seats) ForceFreeTagged(ctx context.Context, hall, seat int) error {
	return s.cluster.Unlink(ctx, taggedLock(hall, seat), taggedLock(hall, seat+1)).Err()
}
