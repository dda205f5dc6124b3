package main

import (
	"context"
	"database/sql"
	"fmt"
)

var mariadbFloors = []subject{
	{system: mariadb, library: "raw", variant: "lock, release", floor: true, module: "github.com/go-sql-driver/mysql",
		settings: "GET_LOCK, RELEASE_LOCK on one connection, names in the text", open: openRawMariaDB},
}

func openRawMariaDB(ctx context.Context, at address, key string) (client, error) {
	db, err := sql.Open("mysql", string(at))
	if err != nil {
		return client{}, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return client{}, err
	}
	run := func(ctx context.Context, statement string) error {
		var done sql.NullInt64
		err := conn.QueryRowContext(ctx, statement).Scan(&done)
		if err == nil && done.Int64 != 1 {
			err = fmt.Errorf("%s: %v", statement, done)
		}
		return err
	}
	take, free := fmt.Sprintf("SELECT GET_LOCK('%s', 10)", key), fmt.Sprintf("SELECT RELEASE_LOCK('%s')", key)
	again := func(ctx context.Context) error { return run(ctx, free) }
	return client{
		contender: same(func(ctx context.Context) (release, error) { return again, run(ctx, take) }),
		close: func() {
			conn.Close()
			db.Close()
		},
	}, nil
}
