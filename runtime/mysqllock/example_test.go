package mysqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/examples"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

// exampleDSN is of the examples' schema.
var exampleDSN = sync.OnceValue(func() string { return testserver.MariaDB(examples.TB{}) })

// A Locker keeps a connection of the pool for each lock that is held.
func ExampleLocker_Do() {
	ctx := context.Background()
	db, err := sql.Open("mysql", exampleDSN())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	locker, err := mysqllock.New(db)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	invoice := lock.NewKey("example", "invoice", "4711")
	err = locker.Do(ctx, invoice, func(ctx context.Context) error {
		// Another process at the same time, which does not want to wait for long:
		other, err := mysqllock.New(db)
		if err != nil {
			return err
		}
		defer other.Close()
		_, err = other.Acquire(context.Background(), invoice, lock.Wait(10*time.Millisecond))
		fmt.Println("timed out:", errors.Is(err, lock.ErrTimeout))
		return nil
	})
	fmt.Println("done:", err)
	// Output:
	// timed out: true
	// done: <nil>
}

// A job that every replica schedules runs in one of them.
func ExampleLocker_RunOnce() {
	ctx := context.Background()
	db, err := sql.Open("mysql", exampleDSN())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, mysqllock.Schema); err != nil { // a migration
		log.Fatal(err)
	}

	for replica := range 3 {
		locker, err := mysqllock.New(db)
		if err != nil {
			log.Fatal(err)
		}
		defer locker.Close()
		ran, err := locker.RunOnce(ctx, lock.NewKey("example", "hourly"), 50*time.Minute, func(context.Context) error {
			return nil
		})
		fmt.Println("replica", replica, "ran:", ran, err)
	}
	// Output:
	// replica 0 ran: true <nil>
	// replica 1 ran: false <nil>
	// replica 2 ran: false <nil>
}

// Code that takes its lock by itself releases it on the same connection, and hears of it when there was
// nothing to release.
func ExampleRelease() {
	ctx := context.Background()
	db, err := sql.Open("mysql", exampleDSN())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	const job = "example-import"
	var taken sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, job).Scan(&taken); err != nil || taken.Int64 != 1 {
		log.Fatal(taken, err)
	}
	if err := mysqllock.Release(ctx, conn, job); err != nil {
		log.Fatal(err)
	}
	err = mysqllock.Release(ctx, conn, job)
	fmt.Println("again, not held:", errors.Is(err, lock.ErrNotHeld))
	// Output: again, not held: true
}
