// Package pilot brings ships in, one at a time.
package pilot

import (
	"context"

	"example.com/harbour/store"
)

// Board has the fairway to itself, on whichever connection the store takes.
func Board(ctx context.Context, db *store.DB, fairway int64) error {
	return db.Run(ctx, `SELECT pg_advisory_lock($1)`, fairway)
}
