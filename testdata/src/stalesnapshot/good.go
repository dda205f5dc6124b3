package stalesnapshot

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

var errNotHeld = errors.New("room was not locked by this session")

// LastFresh uses READ COMMITTED, PostgreSQL's default: the read has a snapshot of its own.
func LastFresh(ctx context.Context, db *sql.DB, room int64) (last int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := enter(ctx, tx, room); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	return last, tx.Commit()
}

// LastInTwo sends lock and read one after the other.
func LastInTwo(ctx context.Context, tx *sql.Tx, room int64) (last int, err error) {
	if err := enter(ctx, tx, room); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, lastNumber, room).Scan(&last)
	return last, err
}

// DrawInTwo is Draw in two statements.
func DrawInTwo(ctx context.Context, pool *pgxpool.Pool, room int64) (number int, err error) {
	const q = `INSERT INTO tickets (room, number)
		SELECT $1, coalesce(max(number), 0) + 1 FROM tickets WHERE room = $1
		RETURNING number`
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, room); err != nil {
			return err
		}
		return tx.QueryRow(ctx, q, room).Scan(&number)
	})
	return number, err
}

// LastGormFresh leaves gorm's transaction at the server's default.
func LastGormFresh(ctx context.Context, db *gorm.DB, room int64) (last int, err error) {
	err = db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, room).Error; err != nil {
			return err
		}
		return tx.Raw(lastNumber, room).Scan(&last).Error
	})
	return last, err
}

// LastLockedBefore has its one snapshot, and a session-level lock that is older than the transaction.
func LastLockedBefore(ctx context.Context, db *sql.DB, room int64) (last int, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, room); err != nil {
		return 0, errors.Join(err, discard(conn))
	}
	defer func() { err = errors.Join(err, leave(ctx, conn, room)) }()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, lastNumber, room).Scan(&last); err != nil {
		return 0, err
	}
	return last, tx.Commit()
}

// leave unlocks room whatever became of ctx. A connection that has not confirmed it may still hold
// the lock, so it does not go back to the pool.
func leave(ctx context.Context, conn *sql.Conn, room int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, room).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = errNotHeld
	}
	return errors.Join(err, discard(conn))
}

// discard ends the session: database/sql drops a connection whose driver calls it bad.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) {
		return nil
	}
	return err
}
