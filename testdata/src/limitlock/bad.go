// Package limitlock is a sorting centre whose workers each claim a parcel by locking its number.
// In bad.go the lock function is called at the level of the LIMIT, so the server may lock parcels
// that it then does not return, and nobody knows to unlock those.
package limitlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"
)

// Lightest claims the lightest parcel that no other worker has.
func Lightest(ctx context.Context, tx pgx.Tx) (int64, error) {
	const q = `SELECT id FROM parcels WHERE pg_try_advisory_xact_lock(id) ORDER BY grams LIMIT 1`
	var id int64
	err := tx.QueryRow(ctx, q).Scan(&id) // want `(?i)pg_try_advisory_xact_lock.*limit`
	return id, err
}

// Docks claims up to n docks at which parcels wait. DISTINCT needs every row before it can drop one.
func Docks(ctx context.Context, tx pgx.Tx, n int) (docks []int64, err error) {
	const q = `SELECT DISTINCT dock, pg_try_advisory_xact_lock(dock) AS mine FROM parcels LIMIT $1`
	rows, err := tx.Query(ctx, q, n) // want `(?i)pg_try_advisory_xact_lock.*limit`
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var dock int64
		var mine bool
		if err := rows.Scan(&dock, &mine); err != nil {
			return nil, err
		}
		if mine {
			docks = append(docks, dock)
		}
	}
	return docks, rows.Err()
}

// Heaviest claims the n heaviest free parcels; FETCH FIRST is LIMIT in the standard's words.
func Heaviest(ctx context.Context, tx *sqlx.Tx, n int) (ids []int64, err error) {
	err = tx.SelectContext(ctx, &ids, // want `(?i)pg_try_advisory_xact_lock.*(limit|fetch)`
		`SELECT id FROM parcels
		WHERE pg_try_advisory_xact_lock(id)
		ORDER BY grams DESC
		FETCH FIRST $1 ROWS ONLY`, n)
	return ids, err
}

// FirstBy claims the first free parcel in the order of a column of the caller's choice.
func FirstBy(ctx context.Context, tx pgx.Tx, column string) (id int64, err error) {
	order := pgx.Identifier{column}.Sanitize()
	q := fmt.Sprintf(`SELECT id FROM parcels WHERE pg_try_advisory_xact_lock(id) ORDER BY %s LIMIT 1`, order)
	err = tx.QueryRow(ctx, q).Scan(&id) // want `(?i)pg_try_advisory_xact_lock.*limit`
	return id, err
}

// Derived locks in a derived table; the sort above it reads that table to its end.
func Derived(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	const q = `SELECT p.id
		FROM (SELECT id, grams, pg_try_advisory_xact_lock(id) AS mine FROM parcels) AS p
		WHERE p.mine
		ORDER BY p.grams
		LIMIT 1`
	err = tx.QueryRowContext(ctx, q).Scan(&id) // want `(?i)pg_try_advisory_xact_lock.*limit`
	return id, err
}

// Sorter is a worker that keeps its books with gorm.
type Sorter struct{ db *gorm.DB }

// NewSorter returns a worker on db.
func NewSorter(db *gorm.DB) *Sorter { return &Sorter{db: db} }

// Next claims the lightest free parcel and sorts it; the builder puts the same statement together.
func (s *Sorter) Next(ctx context.Context, sort func(tx *gorm.DB, id int64) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var ids []int64
		err := tx.Table("parcels").Where("pg_try_advisory_xact_lock(id)").Order("grams").Limit(1).Pluck("id", &ids).Error // want `(?i)pg_try_advisory_xact_lock.*limit`
		if err != nil || len(ids) == 0 {
			return err
		}
		return sort(tx, ids[0])
	})
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// firstID runs whatever text it is given; only its callers know that the text locks.
func firstID(ctx context.Context, q rowQuerier, text string, args ...any) (id int64, err error) {
	err = q.QueryRowContext(ctx, text, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// AtDock claims the lightest free parcel of one dock.
func AtDock(ctx context.Context, tx *sql.Tx, dock int) (int64, error) {
	return firstID(ctx, tx, `SELECT id FROM parcels WHERE dock = $1 AND pg_try_advisory_xact_lock(id) ORDER BY grams LIMIT 1`, dock) // want `(?i)pg_try_advisory_xact_lock.*limit`
}

// Bin is Lightest on MariaDB and MySQL.
func Bin(ctx context.Context, conn *sql.Conn) (id int64, err error) {
	const q = `SELECT id FROM parcels WHERE GET_LOCK(CONCAT('parcel-', id), 0) = 1 ORDER BY grams LIMIT 1`
	err = conn.QueryRowContext(ctx, q).Scan(&id) // want `(?i)get_lock.*limit`
	return id, err
}
