package xactlock

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
)

// inTx runs work in a transaction that holds the card: what every till below does in its library's way.
func inTx(ctx context.Context, db *sql.DB, card int64, work Work) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := lockCard(ctx, tx, card); err != nil {
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// RedeemTx locks and works in one transaction.
func RedeemTx(ctx context.Context, db *sql.DB, card int64, work Work) error {
	return inTx(ctx, db, card, work)
}

// TopUpTx asks without waiting, inside a transaction on the pinned connection.
func TopUpTx(ctx context.Context, pool *pgxpool.Pool, card int64, work Work) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, card).Scan(&mine); err != nil {
			return err
		}
		if !mine {
			return ErrBusy
		}
		return work(ctx)
	})
}

// ExpireTx opens the transaction by hand, and before the lock.
func ExpireTx(ctx context.Context, pool *pgxpool.Pool, card int64, work Work) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// A connection in an open transaction does not go back to the pool: pgxpool destroys it.
	defer conn.Release()
	if _, err := conn.Exec(ctx, `BEGIN`); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, card); err != nil {
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `COMMIT`)
	return err
}

// MergeTx uses bun's transaction.
func MergeTx(ctx context.Context, db *bun.DB, card int64, work Work) error {
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(`SELECT pg_advisory_xact_lock(?)`, card).Exec(ctx); err != nil {
			return err
		}
		return work(ctx)
	})
}

// BlockTx uses gorm's transaction.
func (d *Desk) BlockTx(ctx context.Context, card int64, work Work) error {
	return d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, card).Error; err != nil {
			return err
		}
		return work(ctx)
	})
}

// ZeroAll sends several statements without arguments in one string: PostgreSQL runs them in one
// implicit transaction, so the lock lasts to the end of the string.
func ZeroAll(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT pg_advisory_xact_lock(7001);
		UPDATE cards SET cents = 0 WHERE expired;
		UPDATE totals SET cents = (SELECT sum(cents) FROM cards)`)
	return err
}
