package lock_test

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

// A key is made alike in every process. Each backend takes the form that its server wants.
func ExampleNewKey() {
	key := lock.NewKey("billing", "invoice", "4711")
	fmt.Println(key)
	fmt.Println("PostgreSQL:", key.Int64())
	fmt.Println("MySQL:     ", key.Name64())
	fmt.Println("Redis:     ", key.HashTag())

	// The parts count, not the text that they make together.
	fmt.Println(key == lock.NewKey("billing", "invoice/4711"))
	// Output:
	// billing/invoice/4711
	// PostgreSQL: 1861291920756304687
	// MySQL:      billing/invoice/4711:19d4a323effbeb2f97bcc5a6ad5eb446
	// Redis:      {billing/invoice/4711:19d4a323effbeb2f97bcc5a6ad5eb446}
	// false
}

// leases are of the examples' Redis server.
var leases = sync.OnceValue(func() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: testserver.Redis(examples.TB{})})
})

// The token goes with each write to a store that can compare: it refuses one that is smaller than the
// last that it has seen.
func ExampleToken() {
	ctx := context.Background()
	locker, err := redislock.New(leases(), redislock.Fencing())
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	var store struct{ fence int64 }
	write := func(token int64) string {
		if token < store.fence {
			return "refused"
		}
		store.fence = token
		return "written"
	}

	var first int64
	for range 2 {
		err := locker.Do(ctx, lock.NewKey("shop", "price list"), func(ctx context.Context) error {
			token, ok := lock.Token(ctx)
			if !ok {
				return errors.New("no fencing")
			}
			if first == 0 {
				first = token // this holder stops here for a while
				return nil
			}
			fmt.Println("second holder:", write(token))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("first holder: ", write(first))
	// Output:
	// second holder: written
	// first holder:  refused
}

// Guard just before a step that must not be done by two: it knows of a lease that has ended, without
// asking the server.
func ExampleGuard() {
	ctx := context.Background()
	locker, err := redislock.New(leases())
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	mail := lock.LiteralKey("mail")
	err = locker.Do(ctx, mail, func(ctx context.Context) error {
		fmt.Println("before the first mail:", lock.Guard(ctx))

		leases().Del(ctx, "mail") // somebody who should not
		<-ctx.Done()              // the renewal notices
		err := lock.Guard(ctx)
		fmt.Println("before the second, lost:", errors.Is(err, lock.ErrLost))
		return err
	}, lock.TTL(300*time.Millisecond))
	fmt.Println("lost:", errors.Is(err, lock.ErrLost))
	// Output:
	// before the first mail: <nil>
	// before the second, lost: true
	// lost: true
}
