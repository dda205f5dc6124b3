// Package stalesnapshot numbers the tickets of a clinic's waiting rooms; a room is locked while its
// next number is found. In bad.go the number is read from a snapshot that is older than the lock, so
// that it misses the ticket which the last holder of the lock has drawn.
package stalesnapshot

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

const lastNumber = `SELECT coalesce(max(number), 0) FROM tickets WHERE room = $1`

// Last reads a room's last number in a transaction whose snapshot the wait for the lock has fixed.
func Last(ctx context.Context, db *sql.DB, room int64) (last int, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, room); err != nil { // want `pg_advisory_xact_lock`
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	return last, tx.Commit()
}

// LastSerializable is Last with pgx and SERIALIZABLE. The server gives a read no error for it.
func LastSerializable(ctx context.Context, pool *pgxpool.Pool, room int64) (last int, err error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, room); err != nil { // want `pg_advisory_xact_lock`
		return 0, err
	}
	if err := tx.QueryRow(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	return last, tx.Commit(ctx)
}

// LastAtOnce locks and reads in one statement, whose snapshot is taken before it starts to wait.
func LastAtOnce(ctx context.Context, tx *sql.Tx, room int64) (last int, err error) {
	const q = `SELECT t.number FROM pg_advisory_xact_lock($1), tickets AS t
		WHERE t.room = $1 ORDER BY t.number DESC`
	err = tx.QueryRowContext(ctx, q, room).Scan(&last) // want `pg_advisory_xact_lock`
	return last, err
}

// Draw locks, reads and writes in one statement.
func Draw(ctx context.Context, pool *pgxpool.Pool, room int64) (number int, err error) {
	const q = `WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock($1))
		INSERT INTO tickets (room, number)
		SELECT $1, coalesce(max(number), 0) + 1 FROM tickets, turn WHERE room = $1
		RETURNING number`
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, q, room).Scan(&number) // want `pg_advisory_xact_lock`
	})
	return number, err
}

// LastByHand opens the transaction in SQL.
func LastByHand(ctx context.Context, pool *pgxpool.Pool, room int64) (last int, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	// A connection in an open transaction does not go back to the pool: pgxpool destroys it.
	defer conn.Release()
	if _, err := conn.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ`); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, room); err != nil { // want `pg_advisory_xact_lock`
		return 0, err
	}
	if err := conn.QueryRow(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	_, err = conn.Exec(ctx, `COMMIT`)
	return last, err
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// enter is right or wrong by the transaction that it is given.
func enter(ctx context.Context, e execer, room int64) error {
	_, err := e.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, room)
	return err
}

// LastByHelper gives the helper a transaction with one snapshot.
func LastByHelper(ctx context.Context, db *sql.DB, room int64) (last int, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := enter(ctx, tx, room); err != nil { // want `pg_advisory_xact_lock`
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	return last, tx.Commit()
}

// LastGorm is Last with gorm.
func LastGorm(ctx context.Context, db *gorm.DB, room int64) (last int, err error) {
	err = db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, room).Error; err != nil { // want `pg_advisory_xact_lock`
			return err
		}
		return tx.Raw(lastNumber, room).Scan(&last).Error
	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	return last, err
}
