package main

import (
	"context"
	"database/sql"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// This module's locks have no setting that would make them faster, so that each has one row, or one for
// each driver.
var (
	ourPostgres = []subject{
		{system: postgresql, library: "pgxlock", ours: true, module: pgxModule, settings: "as it comes", open: openPgxlock,
			goals: map[string]float64{twoSelects: 1.15}},
		{system: postgresql, library: "pglock", variant: "pgx", ours: true, module: pgxModule,
			settings: "as it comes, on pgx's driver for database/sql; the pool keeps one idle connection", open: openPglock("pgx")},
		{system: postgresql, library: "pglock", variant: "lib/pq", ours: true, module: "github.com/lib/pq",
			settings: "as it comes, on lib/pq; the pool keeps one idle connection", open: openPglock("postgres")},
	}
	ourRedis = []subject{
		{system: redisdb, library: "redislock", ours: true, module: goredisModule, settings: "as it comes", open: openRedislock,
			goals: map[string]float64{twoScripts: 1.15}},
	}
	ourMariaDB = []subject{
		{system: mariadb, library: "mysqllock", ours: true, module: "github.com/go-sql-driver/mysql",
			settings: "as it comes", open: openMysqllock},
	}
)

// ourClient is a client of one of our lockers and what it stands on.
func ourClient(locker *lock.Locker, key string, end func()) client {
	k := lock.NewKey("bench", key)
	return client{
		contender: same(func(ctx context.Context) (release, error) {
			h, err := locker.Acquire(ctx, k)
			if err != nil {
				return nil, err
			}
			return h.Release, nil
		}),
		close: func() {
			_ = locker.Close() // nothing is held, and what did not end shows in the next measurement's settle
			end()
		},
	}
}

func openPgxlock(ctx context.Context, at address, key string) (client, error) {
	config, err := pgxpool.ParseConfig(string(at))
	if err != nil {
		return client{}, err
	}
	locker, err := pgxlock.New(ctx, config)
	if err != nil {
		return client{}, err
	}
	return ourClient(locker.Locker, key, func() {}), nil
}

func openPglock(driver string) func(context.Context, address, string) (client, error) {
	return func(_ context.Context, at address, key string) (client, error) {
		db, err := sql.Open(driver, string(at))
		if err != nil {
			return client{}, err
		}
		// Two, which is the default, for each of 64 processes are more than the server has.
		db.SetMaxIdleConns(1)
		locker, err := pglock.New(db)
		if err != nil {
			db.Close()
			return client{}, err
		}
		return ourClient(locker.Locker, key, func() { db.Close() }), nil
	}
}

func openRedislock(_ context.Context, at address, key string) (client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: string(at)})
	locker, err := redislock.New(rdb)
	if err != nil {
		rdb.Close()
		return client{}, err
	}
	return ourClient(locker.Locker, key, func() { rdb.Close() }), nil
}

func openMysqllock(_ context.Context, at address, key string) (client, error) {
	db, err := sql.Open("mysql", string(at))
	if err != nil {
		return client{}, err
	}
	locker, err := mysqllock.New(db)
	if err != nil {
		db.Close()
		return client{}, err
	}
	return ourClient(locker.Locker, key, func() { db.Close() }), nil
}
