package poolstarve

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// PostHere posts on the connection that has the lock.
func PostHere(ctx context.Context, db *sql.DB, ledger int64, check Check) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, ledger); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, post, ledger)
	return err
}

// CountHere counts in the transaction that has the lock.
func CountHere(ctx context.Context, pool *pgxpool.Pool, ledger int64, check Check) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, ledger); err != nil {
			return err
		}
		if err := check(ctx); err != nil {
			return err
		}
		var n int
		return tx.QueryRow(ctx, count, ledger).Scan(&n)
	})
}

// PostGormHere writes tx where it means tx.
func PostGormHere(ctx context.Context, db *gorm.DB, ledger int64, check Check) error {
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, ledger).Error; err != nil {
			return err
		}
		if err := check(ctx); err != nil {
			return err
		}
		return tx.Exec(`INSERT INTO entries (ledger) VALUES (?)`, ledger).Error
	})
}

// TwoPools has a pool for the locks and another one for the work: a poster that has a lock never
// waits for one that has none.
type TwoPools struct{ locks, work *sql.DB }

// NewTwoPools returns the books in work, with locks for the locks.
func NewTwoPools(locks, work *sql.DB) *TwoPools { return &TwoPools{locks: locks, work: work} }

// Post holds a connection of the one pool and works on the other.
func (p *TwoPools) Post(ctx context.Context, ledger int64, check Check) (err error) {
	conn, err := p.locks.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, ledger); err != nil {
		return errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	_, err = p.work.ExecContext(ctx, post, ledger)
	return err
}

// PostNamedHere is PostHere on MariaDB and MySQL.
func PostNamedHere(ctx context.Context, db *sql.DB, ledger string, check Check) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 10)`, ledger).Scan(&got); err != nil {
		return errors.Join(err, discard(conn))
	}
	if got.Int64 != 1 {
		return ErrBusy
	}
	defer func() { err = errors.Join(err, releaseName(ctx, conn, ledger)) }()
	if err := check(ctx); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO entries (ledger) VALUES (?)`, ledger)
	return err
}
