// Package store sends statements in a way that cannot be followed from its source.
package store

import "context"

// DB is a pool. Whoever makes one says how it sends.
type DB struct {
	Send func(ctx context.Context, statement string, values []any) error
}

// Run sends a statement on some connection.
func (db *DB) Run(ctx context.Context, statement string, values ...any) error {
	return db.Send(ctx, statement, values)
}
