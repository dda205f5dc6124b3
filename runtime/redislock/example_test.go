package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/examples"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// address is of the examples' server.
var address = sync.OnceValue(func() string { return testserver.Redis(examples.TB{}) })

// The lease is renewed while the function runs, however long that is. Its context ends when the lock is
// lost.
func ExampleLocker_Do() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address()})
	defer client.Close()
	locker, err := redislock.New(client, redislock.Defaults(lock.TTL(10*time.Second)))
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	report := lock.NewKey("shop", "report", "2024-06")
	err = locker.Do(ctx, report, func(ctx context.Context) error {
		// Another replica at the same time:
		other, err := redislock.New(client)
		if err != nil {
			return err
		}
		defer other.Close()
		_, err = other.Acquire(context.Background(), report, lock.Try())
		fmt.Println("busy:", errors.Is(err, lock.ErrNotAcquired))

		fmt.Println("guard:", lock.Guard(ctx))
		return nil
	})
	fmt.Println("done:", err)
	// Output:
	// busy: true
	// guard: <nil>
	// done: <nil>
}

// Both accounts are locked, or none, in whichever order they are given: a transfer the other way round
// does not wait for this one while this one waits for it.
func ExampleLocker_DoAll() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address()})
	defer client.Close()
	locker, err := redislock.New(client)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	balance := map[string]int{"anna": 100, "ben": 0}
	transfer := func(from, to string, amount int) error {
		accounts := []lock.Key{lock.NewKey("bank", "account", from), lock.NewKey("bank", "account", to)}
		return locker.DoAll(ctx, accounts, func(ctx context.Context) error {
			balance[from] -= amount
			balance[to] += amount
			return nil
		})
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { _ = transfer("anna", "ben", 7) })
		all.Go(func() { _ = transfer("ben", "anna", 2) })
	}
	all.Wait()
	fmt.Println(balance)
	// Output: map[anna:50 ben:50]
}

// Code that takes its lock by itself releases it only if it is still its own. A plain DEL would delete the
// lock of whoever came after the expiry.
func ExampleDelIfEqual() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address()})
	defer client.Close()

	const key, token = "import", "token-of-this-run"
	taken, err := client.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil || !taken {
		log.Fatal(taken, err)
	}

	// The lock expires, and another takes it.
	client.Set(ctx, key, "token-of-another", time.Minute)

	err = redislock.DelIfEqual(ctx, client, key, token)
	fmt.Println("not ours any more:", errors.Is(err, lock.ErrNotHeld))
	fmt.Println("the other still has it:", client.Get(ctx, key).Val())
	// Output:
	// not ours any more: true
	// the other still has it: token-of-another
}
