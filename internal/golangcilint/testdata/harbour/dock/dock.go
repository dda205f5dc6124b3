// Package dock lets ships come alongside.
package dock

import (
	"context"
	"database/sql"

	"example.com/harbour/berth"
)

// Arrive has the berth reserved on whichever connection the pool gives.
func Arrive(ctx context.Context, db *sql.DB, number int64) error {
	return berth.Reserve(ctx, db, number)
}
