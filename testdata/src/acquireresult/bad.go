// Package acquireresult pays invoices, each by one instance of the program. An instance that finds
// an invoice being paid goes on to the next.
package acquireresult

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

var (
	errBusy    = errors.New("invoice is being paid elsewhere")
	errNotHeld = errors.New("invoice was not locked")
)

// Pay is the work under the lock.
type Pay func(ctx context.Context) error

// unlock takes false for an error.
func unlock(ctx context.Context, conn *sql.Conn, invoice int64) error {
	var released bool
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, invoice)
	err := row.Scan(&released)
	if err == nil && !released {
		err = errNotHeld
	}
	return err
}

// ErrorOnly takes the absence of an error for the lock.
func ErrorOnly(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	if _, err := conn.ExecContext(ctx, `SELECT pg_try_advisory_lock($1)`, invoice); err != nil { // want `answer of pg_try_advisory_lock`
		return err
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

// RowCount counts the row that carries the answer.
func RowCount(ctx context.Context, pool *pgxpool.Pool, invoice int64, pay Pay) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tag, err := conn.Exec(ctx, `SELECT pg_try_advisory_lock($1)`, invoice) // want `answer of pg_try_advisory_lock`
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return errBusy
	}
	workErr := pay(ctx)
	var released bool
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, invoice)
	if err := row.Scan(&released); err != nil || !released {
		return errors.Join(workErr, err, errNotHeld)
	}
	return workErr
}

// NextRow asks whether there is a row, and there always is one.
func NextRow(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	rows, err := conn.QueryContext(ctx, `SELECT pg_try_advisory_lock($1)`, invoice) // want `answer of pg_try_advisory_lock`
	if err != nil {
		return err
	}
	got := rows.Next()
	if err := errors.Join(rows.Close(), rows.Err()); err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

// InTransaction trusts a transaction-level try in the same way.
func InTransaction(ctx context.Context, conn *pgx.Conn, invoice int64, pay Pay) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_try_advisory_xact_lock($1)`, invoice); err != nil { // want `answer of pg_try_advisory_xact_lock`
			return err
		}
		return pay(ctx)
	})
}

// GormRowCount counts the row as RowCount does.
func GormRowCount(ctx context.Context, gdb *gorm.DB, invoice int64, pay Pay) error {
	return gdb.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Exec("SELECT pg_try_advisory_xact_lock(?)", invoice) // want `answer of pg_try_advisory_xact_lock`
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected != 1 {
			return errBusy
		}
		return pay(ctx)
	})
}

// tryInvoice hands the answer to its caller.
func tryInvoice(ctx context.Context, conn *sql.Conn, invoice int64) (got bool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, invoice).Scan(&got)
	return got, err
}

// DroppedAnswer looks only at the helper's error.
func DroppedAnswer(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	if _, err := tryInvoice(ctx, conn, invoice); err != nil { // want `answer of pg_try_advisory_lock`
		return err
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

func unlockName(ctx context.Context, conn *sql.Conn, name string) error {
	var released sql.NullInt64
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
	err := row.Scan(&released)
	if err == nil && released.Int64 != 1 {
		err = errNotHeld
	}
	return err
}

// MySQLErrorOnly takes the absence of an error for the lock.
func MySQLErrorOnly(ctx context.Context, conn *sql.Conn, name string, pay Pay) error {
	if _, err := conn.ExecContext(ctx, `SELECT GET_LOCK(?, 0)`, name); err != nil { // want `(?i)answer of get_lock`
		return err
	}
	return errors.Join(pay(ctx), unlockName(ctx, conn, name))
}

// MySQLNotNull takes 0, which is not NULL, for the lock.
func MySQLNotNull(ctx context.Context, conn *sql.Conn, name string, pay Pay) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&got); err != nil { // want `(?i)answer of get_lock`
		return err
	}
	if !got.Valid {
		return errBusy
	}
	return errors.Join(pay(ctx), unlockName(ctx, conn, name))
}
