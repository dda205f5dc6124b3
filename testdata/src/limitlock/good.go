package limitlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"
)

// LightestOf looks for candidates first and locks them one at a time, stopping at the first that it
// gets. What was refused is not held, and what was not asked for is not locked.
func LightestOf(ctx context.Context, tx pgx.Tx, candidates int) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM parcels ORDER BY grams LIMIT $1`, candidates)
	if err != nil {
		return 0, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, id).Scan(&mine); err != nil {
			return 0, err
		}
		if mine {
			return id, nil
		}
	}
	return 0, pgx.ErrNoRows
}

// LightestCTE limits below the lock call; MATERIALIZED keeps the planner from merging the levels.
func LightestCTE(ctx context.Context, tx pgx.Tx) (id int64, err error) {
	const q = `WITH lightest AS MATERIALIZED (SELECT id FROM parcels ORDER BY grams LIMIT 1)
		SELECT id FROM lightest WHERE pg_try_advisory_xact_lock(id)`
	err = tx.QueryRow(ctx, q).Scan(&id)
	return id, err
}

// HeaviestOf limits in a subquery, which the planner never flattens away.
func HeaviestOf(ctx context.Context, tx *sqlx.Tx, n int) (ids []int64, err error) {
	const q = `SELECT id FROM (SELECT id FROM parcels ORDER BY grams DESC LIMIT $1) AS top
		WHERE pg_try_advisory_xact_lock(id)`
	err = tx.SelectContext(ctx, &ids, q, n)
	return ids, err
}

// EveryFree means to lock all of them, and says so.
func EveryFree(ctx context.Context, tx *sqlx.Tx) (ids []int64, err error) {
	err = tx.SelectContext(ctx, &ids, `SELECT id FROM parcels WHERE pg_try_advisory_xact_lock(id) LIMIT ALL`)
	return ids, err
}

// NextRow needs no advisory lock at all: a queue in a table is what SKIP LOCKED is made for.
func NextRow(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	const q = `SELECT id FROM parcels ORDER BY grams LIMIT 1 FOR UPDATE SKIP LOCKED`
	err = tx.QueryRowContext(ctx, q).Scan(&id)
	return id, err
}

// NextOf is Next with the candidates read first.
func (s *Sorter) NextOf(ctx context.Context, sort func(tx *gorm.DB, id int64) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var ids []int64
		if err := tx.Table("parcels").Order("grams").Limit(10).Pluck("id", &ids).Error; err != nil {
			return err
		}
		for _, id := range ids {
			var mine bool
			if err := tx.Raw(`SELECT pg_try_advisory_xact_lock(?)`, id).Scan(&mine).Error; err != nil {
				return err
			}
			if mine {
				return sort(tx, id)
			}
		}
		return nil
	})
}

// ErrBusy says that another worker has the bin.
var ErrBusy = errors.New("bin is taken")

// BinOf reads the candidate and locks it in a statement of its own.
func BinOf(ctx context.Context, conn *sql.Conn) (id int64, err error) {
	if err := conn.QueryRowContext(ctx, `SELECT id FROM parcels ORDER BY grams LIMIT 1`).Scan(&id); err != nil {
		return 0, err
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(CONCAT('parcel-', ?), 0)`, id).Scan(&got); err != nil {
		return 0, err
	}
	if got.Int64 != 1 {
		return 0, ErrBusy
	}
	return id, nil
}
