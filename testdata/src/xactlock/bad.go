// Package xactlock is a shop's gift cards: a card is locked while its balance is read and written.
// In bad.go the transaction-level lock is taken where no transaction is open, so it is gone as its
// own statement ends, and two tills work on one card at once.
package xactlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
)

// ErrBusy says that another till works on the card.
var ErrBusy = errors.New("card is in use")

// Work reads and writes a card's balance while the card should be locked.
type Work func(ctx context.Context) error

// Redeem takes the lock on the pool: a transaction of one statement, over before work begins.
func Redeem(ctx context.Context, db *sql.DB, card int64, work Work) error {
	if _, err := db.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, card); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	return work(ctx)
}

// Refund has a transaction, but locks beside it.
func Refund(ctx context.Context, db *sql.DB, card int64, work Work) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := db.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, card); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// TopUp pins a connection and opens no transaction on it.
func TopUp(ctx context.Context, pool *pgxpool.Pool, card int64, work Work) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var mine bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, card).Scan(&mine) // want `pg_try_advisory_xact_lock`
	if err != nil {
		return err
	}
	if !mine {
		return ErrBusy
	}
	return work(ctx)
}

// Expire locks after its transaction has ended.
func Expire(ctx context.Context, db *sql.DB, card int64, work Work) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, card); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	return work(ctx)
}

// Audit reads under a shared lock that is not there.
func Audit(ctx context.Context, db *sqlx.DB, card int64, work Work) error {
	var mine bool
	err := db.GetContext(ctx, &mine, `SELECT pg_try_advisory_xact_lock_shared($1)`, card) // want `pg_try_advisory_xact_lock_shared`
	if err != nil {
		return err
	}
	if !mine {
		return ErrBusy
	}
	return work(ctx)
}

// Merge locks through bun's pool.
func Merge(ctx context.Context, db *bun.DB, card int64, work Work) error {
	if _, err := db.NewRaw(`SELECT pg_advisory_xact_lock(?)`, card).Exec(ctx); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	return work(ctx)
}

// Desk is a till that keeps its books with gorm.
type Desk struct{ db *gorm.DB }

// NewDesk returns a till on the database behind dialector.
func NewDesk(dialector gorm.Dialector) (*Desk, error) {
	db, err := gorm.Open(dialector, &gorm.Config{})
	if err != nil {
		return nil, err
	}
	return &Desk{db: db}, nil
}

// Block takes the lock on gorm's pool.
func (d *Desk) Block(ctx context.Context, card int64, work Work) error {
	if err := d.db.WithContext(ctx).Exec(`SELECT pg_advisory_xact_lock(?)`, card).Error; err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	return work(ctx)
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// lockCard is right or wrong by what it is given.
func lockCard(ctx context.Context, e execer, card int64) error {
	_, err := e.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, card)
	return err
}

// Void gives the helper a pool.
func Void(ctx context.Context, db *sql.DB, card int64, work Work) error {
	if err := lockCard(ctx, db, card); err != nil { // want `pg_advisory_xact_lock`
		return err
	}
	return work(ctx)
}
