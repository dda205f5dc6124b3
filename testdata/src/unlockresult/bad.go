// Package unlockresult settles a shop's accounts. The work runs on the lock's own connection, and
// nothing keeps that work from giving the lock away: a reset of the session does.
package unlockresult

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// Exec is what the work under the lock does: one statement on the lock's connection.
type Exec func(statement string) error

// Settle drops the boolean of the unlock.
func Settle(ctx context.Context, db *sql.DB, account int64, settle func(Exec) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, account); err != nil {
		return err
	}
	workErr := settle(func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return err
	})
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, account); err != nil { // want `answer of pg_advisory_unlock`
		return err
	}
	return workErr
}

// SettleDeferred does not even look at the error.
func SettleDeferred(ctx context.Context, pool *pgxpool.Pool, account int64, settle func(Exec) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock_shared($1)`, account); err != nil {
		return err
	}
	defer conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock_shared($1)`, account) // want `answer of pg_advisory_unlock_shared`
	return settle(func(statement string) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// SettleOwn holds a session of its own, which goes on living. Rows that are closed unread carry the
// answer away.
func SettleOwn(ctx context.Context, conn *pgx.Conn, account int64, settle func(Exec) error) error {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, account); err != nil {
		return err
	}
	workErr := settle(func(statement string) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
	rows, err := conn.Query(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, account) // want `answer of pg_advisory_unlock`
	if err != nil {
		return err
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	return workErr
}

// SettlePinned runs in gorm's pinned connection.
func SettlePinned(ctx context.Context, gdb *gorm.DB, account int64, settle func(Exec) error) error {
	return gdb.WithContext(ctx).Connection(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_lock(?)", account).Error; err != nil {
			return err
		}
		workErr := settle(func(statement string) error { return tx.Exec(statement).Error })
		free := tx.WithContext(context.WithoutCancel(ctx))
		if err := free.Exec("SELECT pg_advisory_unlock(?)", account).Error; err != nil { // want `answer of pg_advisory_unlock`
			return err
		}
		return workErr
	})
}

// account is a lock with its own two methods; unlock hands the server's answer to its caller.
type account struct {
	conn *sql.Conn
	id   int64
}

func (a *account) lock(ctx context.Context) error {
	_, err := a.conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, a.id)
	return err
}

func (a *account) unlock(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var released bool
	err := a.conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, a.id).Scan(&released)
	return released, err
}

// SettleThroughMethods drops what unlock answers.
func SettleThroughMethods(ctx context.Context, db *sql.DB, id int64, settle func(Exec) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &account{conn: conn, id: id}
	if err := a.lock(ctx); err != nil {
		return err
	}
	workErr := settle(func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return err
	})
	if _, err := a.unlock(ctx); err != nil { // want `answer of pg_advisory_unlock`
		return err
	}
	return workErr
}

// SettleMySQL drops the 1, 0 or NULL of RELEASE_LOCK.
func SettleMySQL(ctx context.Context, db *sql.DB, name string, settle func(Exec) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return ErrBusy
	}
	workErr := settle(func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return err
	})
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, name); err != nil { // want `(?i)answer of release_lock`
		return err
	}
	return workErr
}
