package pgxlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/examples"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
)

// exampleURL is of the examples' database.
var exampleURL = sync.OnceValue(func() string { return testserver.Postgres(examples.TB{}) })

// A Locker has a small pool of its own, so that the work has all of the program's.
func ExampleLocker_Do() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	locker, err := pgxlock.FromPool(pool)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	nightly := lock.NewKey("shop", "nightly")
	err = locker.Do(ctx, nightly, func(ctx context.Context) error {
		// Another replica at the same time, which does not want to wait:
		other, err := pgxlock.FromPool(pool)
		if err != nil {
			return err
		}
		defer other.Close()
		_, err = other.Acquire(context.Background(), nightly, lock.Try())
		fmt.Println("busy:", errors.Is(err, lock.ErrNotAcquired))

		var n int
		err = pool.QueryRow(ctx, `SELECT 6 * 7`).Scan(&n)
		fmt.Println("worked under the lock:", n)
		return err
	})
	fmt.Println("released:", err)
	// Output:
	// busy: true
	// worked under the lock: 42
	// released: <nil>
}

// The lock and the work are one transaction: whatever ends the session undoes the work.
func ExampleDoTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `CREATE TABLE seats (number int, guest text)`); err != nil {
		log.Fatal(err)
	}

	book := func(guest string) error {
		return pgxlock.DoTx(ctx, pool, lock.NewKey("cinema", "hall", "1"), func(ctx context.Context, tx pgx.Tx) error {
			var next int
			if err := tx.QueryRow(ctx, `SELECT count(*) + 1 FROM seats`).Scan(&next); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO seats VALUES ($1, $2)`, next, guest)
			return err
		})
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := book(fmt.Sprint("guest ", i)); err != nil {
				log.Print(err)
			}
		})
	}
	all.Wait()

	var seats, numbers int
	err = pool.QueryRow(ctx, `SELECT count(*), count(DISTINCT number) FROM seats`).Scan(&seats, &numbers)
	fmt.Println(seats, "guests in", numbers, "seats", err)
	// Output: 8 guests in 8 seats <nil>
}

// A job that every replica schedules for every hour runs in one of them.
func ExampleLocker_RunOnce() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, pgxlock.Schema); err != nil { // a migration
		log.Fatal(err)
	}

	for replica := range 3 {
		locker, err := pgxlock.FromPool(pool)
		if err != nil {
			log.Fatal(err)
		}
		defer locker.Close()
		ran, err := locker.RunOnce(ctx, lock.NewKey("shop", "hourly"), 50*time.Minute, func(context.Context) error {
			return nil
		})
		fmt.Println("replica", replica, "ran:", ran, err)
	}
	// Output:
	// replica 0 ran: true <nil>
	// replica 1 ran: false <nil>
	// replica 2 ran: false <nil>
}

// One replica leads at a time, until its term ends or it is stopped; then another does.
func ExampleLocker_Campaign() {
	pool, err := pgxpool.New(context.Background(), exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	stop := errors.New("replica is stopped")

	var mu sync.Mutex
	leaders, terms := 0, 0
	var replicas sync.WaitGroup
	for range 3 {
		replicas.Go(func() {
			ctx, end := context.WithCancelCause(context.Background())
			defer end(nil)
			locker, err := pgxlock.FromPool(pool)
			if err != nil {
				log.Print(err)
				return
			}
			defer locker.Close()
			err = locker.Campaign(ctx, lock.NewKey("shop", "leader"), func(ctx context.Context) error {
				mu.Lock()
				leaders++
				terms++
				if leaders > 1 {
					fmt.Println("two leaders")
				}
				mu.Unlock()

				end(stop)    // as the signal to end the process would
				<-ctx.Done() // leads until then

				mu.Lock()
				leaders--
				mu.Unlock()
				return nil
			})
			if !errors.Is(err, stop) {
				fmt.Println("campaign:", err)
			}
		})
	}
	replicas.Wait()
	fmt.Println("terms:", terms)
	// Output: terms: 3
}

// A holder that was stopped and goes on after its lock was given to another: its write comes with a token
// that is smaller than the last that the row has seen, and changes nothing.
func ExampleFencing() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	for _, migration := range []string{
		pgxlock.Schema,
		`CREATE TABLE invoices (id int PRIMARY KEY, state text NOT NULL, fence bigint NOT NULL DEFAULT 0)`,
		`INSERT INTO invoices (id, state) VALUES (4711, 'open')`,
	} {
		if _, err := pool.Exec(ctx, migration); err != nil {
			log.Fatal(err)
		}
	}
	locker, err := pgxlock.FromPool(pool, pgxlock.Fencing())
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	write := func(ctx context.Context, token int64, state string) error {
		tag, err := pool.Exec(ctx, `UPDATE invoices SET state = $1, fence = $2 WHERE id = 4711 AND fence <= $2`, state, token)
		if err == nil && tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: a later holder has written", lock.ErrLost)
		}
		return err
	}
	invoice := lock.NewKey("billing", "invoice", "4711")
	hold := func(do func(ctx context.Context, token int64) error) error {
		return locker.Do(ctx, invoice, func(ctx context.Context) error {
			token, _ := lock.Token(ctx)
			return do(ctx, token)
		})
	}

	var late int64 // of the first holder, whose write is under way for long
	_ = hold(func(_ context.Context, token int64) error { late = token; return nil })
	fmt.Println("second:", hold(func(ctx context.Context, token int64) error { return write(ctx, token, "paid") }))
	fmt.Println("first: ", errors.Is(write(ctx, late, "cancelled"), lock.ErrLost))

	var state string
	err = pool.QueryRow(ctx, `SELECT state FROM invoices WHERE id = 4711`).Scan(&state)
	fmt.Println("invoice:", state, err)
	// Output:
	// second: <nil>
	// first:  true
	// invoice: paid <nil>
}
