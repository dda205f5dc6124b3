// Package calm has the same mistake again and again, each time with a comment that says it is none.
package calm

import (
	"context"
	"database/sql"
)

func bare(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(1)`) //nolint
	return err
}

func linter(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(1)`) //nolint:advisorylint // one connection
	return err
}

func rule(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(1)`) //nolint:poollock // one connection
	return err
}

func reasoned(ctx context.Context, db *sql.DB) error {
	//lint:ignore poollock one connection
	_, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(1)`)
	return err
}

//nolint:advisorylint // all of it
func function(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(1)`); err != nil {
		return err
	}
	return locked(ctx, db)
}

func locked(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `SELECT pg_advisory_lock(2)`) //nolint:unlockresult // speaks of another rule
	return err
}

func needless(ctx context.Context, db *sql.DB) error {
	return db.PingContext(ctx) //nolint:advisorylint // nothing is found here
}
