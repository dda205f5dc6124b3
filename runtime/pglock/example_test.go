package pglock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/examples"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// exampleURL is of the examples' database.
var exampleURL = sync.OnceValue(func() string { return testserver.Postgres(examples.TB{}) })

// Without a Locker: a connection of the pool is kept while the function runs. The pool must allow more
// than those with locks on them, for the function's own work.
func ExampleDo() {
	ctx := context.Background()
	db, err := sql.Open("pgx", exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	nightly := lock.NewKey("shop", "nightly")
	err = pglock.Do(ctx, db, nightly, func(ctx context.Context) error {
		var n int
		if err := db.QueryRowContext(ctx, `SELECT 6 * 7`).Scan(&n); err != nil {
			return err
		}
		fmt.Println("worked under the lock:", n)

		// Asking again in the same chain of calls is a mistake, and neither waits nor succeeds.
		err := pglock.Do(ctx, db, nightly, func(context.Context) error { return nil })
		fmt.Println("again:", errors.Is(err, lock.ErrReentrant))
		return nil
	})
	fmt.Println("released:", err)
	// Output:
	// worked under the lock: 42
	// again: true
	// released: <nil>
}

// The lock and the work are one transaction: whatever ends the session undoes the work.
func ExampleDoTx() {
	ctx := context.Background()
	db, err := sql.Open("pgx", exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE seats (number int, guest text)`); err != nil {
		log.Fatal(err)
	}

	book := func(guest string) error {
		return pglock.DoTx(ctx, db, lock.NewKey("cinema", "hall", "1"), func(ctx context.Context, tx *sql.Tx) error {
			var next int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) + 1 FROM seats`).Scan(&next); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO seats VALUES ($1, $2)`, next, guest)
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
	if err := db.QueryRowContext(ctx, `SELECT count(*), count(DISTINCT number) FROM seats`).Scan(&seats, &numbers); err != nil {
		log.Fatal(err)
	}
	fmt.Println(seats, "guests in", numbers, "seats")
	// Output: 8 guests in 8 seats
}

// Who holds which lock, as the server sees it.
func ExampleHolders() {
	ctx := context.Background()
	db, err := sql.Open("pgx", exampleURL()+"&application_name=shop")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = pglock.Do(ctx, db, lock.Int64Key("stock taking", -4711), func(ctx context.Context) error {
		holders, err := pglock.Holders(ctx, db)
		for _, h := range holders {
			fmt.Printf("%s held the lock %v, shared: %v\n", h.Application, h.Key, h.Shared())
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	holders, err := pglock.Holders(ctx, db)
	fmt.Println("afterwards:", len(holders), err)
	// Output:
	// shop held the lock -4711, shared: false
	// afterwards: 0 <nil>
}

// Code that takes its lock by itself releases it on the same connection, and hears of it when there was
// nothing to release.
func ExampleUnlock() {
	ctx := context.Background()
	db, err := sql.Open("pgx", exampleURL())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	const job = 7
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, job); err != nil {
		log.Fatal(err)
	}
	if err := pglock.Unlock(ctx, conn, job); err != nil {
		log.Fatal(err)
	}
	err = pglock.Unlock(ctx, conn, job)
	fmt.Println("again, not held:", errors.Is(err, lock.ErrNotHeld))
	// Output: again, not held: true
}
