package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	cirello "cirello.io/pglock"
	allisson "github.com/allisson/go-pglock/v3"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/lib/pq"              // the driver "postgres"
)

var postgresSubjects = []subject{
	{system: postgresql, library: "raw", variant: twoSelects, floor: true, module: pgxModule,
		settings: "select 1 twice on one pgx connection", open: rawPgx(false, `select 1`, `select 1`)},
	{system: postgresql, library: "raw", variant: "lock, unlock", floor: true, module: pgxModule,
		settings: "pg_try_advisory_lock, pg_advisory_unlock on one pgx connection",
		open:     rawPgx(true, `select pg_try_advisory_lock($1)`, `select pg_advisory_unlock($1)`)},
	{system: postgresql, library: "go-pglock", variant: "defaults", module: "github.com/allisson/go-pglock/v3",
		settings: "lib/pq; NewLock, WaitAndLock, Unlock, Close for each lock, as its documentation has it", open: openAllissonEach},
	{system: postgresql, library: "go-pglock", variant: "tuned", module: "github.com/allisson/go-pglock/v3",
		settings: "pgx; each contender keeps one Lock and its connection", open: openAllissonKept},
	{system: postgresql, library: "cirello pglock", variant: "defaults", module: "cirello.io/pglock",
		settings: "lib/pq; lease 20 s, which is also how long it waits between tries; heartbeat 5 s", open: openCirello("postgres")},
	{system: postgresql, library: "cirello pglock", variant: "tuned", module: "cirello.io/pglock",
		settings: "pgx, idle connections kept; lease 100 ms, heartbeat 25 ms",
		open:     openCirello("pgx", cirello.WithLeaseDuration(100*time.Millisecond), cirello.WithHeartbeatFrequency(25*time.Millisecond))},
}

// twoSelects is the floor that pgxlock has a goal for.
const twoSelects = "2 select 1"

const pgxModule = "github.com/jackc/pgx/v5"

// rawPgx runs two statements in place of acquire and release, on one connection, as prepared
// statements, which is pgx's way. A keyed statement takes the key and answers whether it did its work.
func rawPgx(keyed bool, first, second string) func(context.Context, address, string) (client, error) {
	return func(ctx context.Context, at address, key string) (client, error) {
		conn, err := pgx.Connect(ctx, string(at))
		if err != nil {
			return client{}, err
		}
		run := func(ctx context.Context, statement string) error {
			if !keyed {
				var one int
				return conn.QueryRow(ctx, statement).Scan(&one)
			}
			var done bool
			err := conn.QueryRow(ctx, statement, int64Key(key)).Scan(&done)
			if err == nil && !done {
				err = fmt.Errorf("%s: false", statement)
			}
			return err
		}
		again := func(ctx context.Context) error { return run(ctx, second) }
		return client{
			contender: same(func(ctx context.Context) (release, error) { return again, run(ctx, first) }),
			close:     func() { conn.Close(context.Background()) },
		}, nil
	}
}

// int64Key is the key for libraries that want a number.
func int64Key(key string) int64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int64(h.Sum64())
}

func openAllissonEach(_ context.Context, at address, key string) (client, error) {
	db, err := sql.Open("postgres", string(at))
	if err != nil {
		return client{}, err
	}
	return client{
		contender: same(func(ctx context.Context) (release, error) {
			l, err := allisson.NewLock(ctx, int64Key(key), db)
			if err != nil {
				return nil, err
			}
			if err := l.WaitAndLock(ctx); err != nil {
				return nil, errors.Join(err, l.Close())
			}
			return func(ctx context.Context) error { return errors.Join(l.Unlock(ctx), l.Close()) }, nil
		}),
		close: func() { db.Close() },
	}, nil
}

func openAllissonKept(_ context.Context, at address, key string) (client, error) {
	db, err := sql.Open("pgx", string(at))
	if err != nil {
		return client{}, err
	}
	var kept []allisson.Lock // DB.Close leaves connections that are in use
	return client{
		contender: func(ctx context.Context) (acquire, error) {
			l, err := allisson.NewLock(ctx, int64Key(key), db)
			if err != nil {
				return nil, err
			}
			kept = append(kept, l)
			return func(ctx context.Context) (release, error) { return l.Unlock, l.WaitAndLock(ctx) }, nil
		},
		close: func() {
			for _, l := range kept {
				l.Close()
			}
			db.Close()
		},
	}, nil
}

func openCirello(driver string, options ...cirello.ClientOption) func(context.Context, address, string) (client, error) {
	return func(_ context.Context, at address, key string) (client, error) {
		db, err := sql.Open(driver, string(at))
		if err != nil {
			return client{}, err
		}
		if len(options) > 0 {
			db.SetMaxIdleConns(100)
		}
		c, err := cirello.UnsafeNew(db, options...)
		if err == nil {
			err = c.TryCreateTable()
		}
		if err != nil {
			db.Close()
			return client{}, err
		}
		return client{
			contender: same(func(ctx context.Context) (release, error) {
				// The heartbeat's context is the lock's, which is to outlive the wait.
				l, err := c.AcquireContext(ctx, key, cirello.WithCustomHeartbeatContext(context.WithoutCancel(ctx)))
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context) error { return c.ReleaseContext(ctx, l) }, nil
			}),
			close: func() { db.Close() },
		}, nil
	}
}
