// Package oven bakes, one batch at a time.
package oven

import (
	"context"
	"database/sql"

	"example.org/bakery/joblock"
)

// Bake takes the oven's lock on whatever connection the pool has.
func Bake(ctx context.Context, db *sql.DB, bake func() error) error {
	if err := joblock.Hold(ctx, db, 7); err != nil {
		return err
	}
	return bake()
}
