// Package pier asks the dock's wardens. What their method does, package dock hands on from package berth.
package pier

import (
	"context"
	"database/sql"

	"example.com/harbour/dock"
)

// Moor reserves a berth on whichever connection the pool gives.
func Moor(ctx context.Context, db *sql.DB, number int64) error {
	return dock.Warden(number).Reserve(ctx, db)
}
