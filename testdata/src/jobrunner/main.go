// Jobrunner runs the jobs of a small shop, each on one instance at a time. It is the example that
// advisorylint is shown on: it compiles, it passes its tests on a quiet machine, and its locks are
// wrong in three ways.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/testdata/src/jobrunner/joblock"
)

func main() {
	dsn := flag.String("dsn", os.Getenv("DATABASE_URL"), "the database's URL")
	every := flag.Duration("every", time.Minute, "how often to look for work")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pool, err := pgxpool.New(ctx, *dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	r := &runner{pool: pool, jobs: []job{
		{"invoices", statement(`SELECT count(*) FROM generate_series(1, 100)`)},
		{"newsletter", statement(`SELECT pg_sleep(0.1)`)},
	}}
	if err := r.loop(ctx, *every); err != nil && !errors.Is(err, context.Canceled) {
		log.Print(err)
	}
}

// job is a name and what to do under it.
type job struct {
	name string
	run  func(context.Context, *pgxpool.Pool) error
}

func statement(sql string) func(context.Context, *pgxpool.Pool) error {
	return func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := pool.Exec(ctx, sql)
		return err
	}
}

type runner struct {
	pool *pgxpool.Pool
	jobs []job
}

// loop runs every job and then the clean-up, until ctx is done.
func (r *runner) loop(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for _, j := range r.jobs {
			if err := r.runJob(ctx, j); err != nil {
				return fmt.Errorf("job %s: %w", j.name, err)
			}
		}
		if err := r.cleanUp(ctx); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// runJob keeps one connection for the lock, and unlocks when the job is over or ctx is cancelled.
func (r *runner) runJob(ctx context.Context, j job) error {
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	got, err := joblock.TryLock(ctx, conn, j.name)
	if err != nil || !got {
		return err
	}
	defer joblock.Unlock(ctx, conn, j.name)
	return j.run(ctx, r.pool)
}

// cleanUp locks and unlocks on whatever connection the pool gives out.
func (r *runner) cleanUp(ctx context.Context) error {
	got, err := joblock.TryLock(ctx, r.pool, "clean-up")
	if err != nil || !got {
		return err
	}
	if _, err := r.pool.Exec(ctx, `SELECT count(*) FROM pg_class`); err != nil {
		return err
	}
	return joblock.Unlock(ctx, r.pool, "clean-up")
}
