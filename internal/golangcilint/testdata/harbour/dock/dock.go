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

// Warden is who keeps a berth of the dock.
func Warden(number int64) *berth.Warden { return &berth.Warden{Berth: number} }
