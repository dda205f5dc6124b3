package acquireresult

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// Scanned goes on only with a true.
func Scanned(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	var got bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, invoice).Scan(&got); err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

// RowPresent has the lock call in WHERE, so that there is a row only with the lock.
func RowPresent(ctx context.Context, pool *pgxpool.Pool, invoice int64, pay Pay) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tag, err := conn.Exec(ctx, `SELECT 1 WHERE pg_try_advisory_lock($1)`, invoice)
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

// NextRowScanned reads what is in the row.
func NextRowScanned(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	rows, err := conn.QueryContext(ctx, `SELECT pg_try_advisory_lock($1)`, invoice)
	if err != nil {
		return err
	}
	defer rows.Close()
	var got bool
	for rows.Next() {
		if err := rows.Scan(&got); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

// InTransactionScanned goes on only with a true.
func InTransactionScanned(ctx context.Context, conn *pgx.Conn, invoice int64, pay Pay) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var got bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, invoice).Scan(&got); err != nil {
			return err
		}
		if !got {
			return errBusy
		}
		return pay(ctx)
	})
}

// Waiting needs no answer: it returns with the lock, or with an error.
func Waiting(ctx context.Context, conn *pgx.Conn, invoice int64, pay Pay) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '20ms'`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, invoice); err != nil {
			return errors.Join(errBusy, err)
		}
		return pay(ctx)
	})
}

// GormScanned reads gorm's answer.
func GormScanned(ctx context.Context, gdb *gorm.DB, invoice int64, pay Pay) error {
	return gdb.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var got bool
		if err := tx.Raw("SELECT pg_try_advisory_xact_lock(?)", invoice).Scan(&got).Error; err != nil {
			return err
		}
		if !got {
			return errBusy
		}
		return pay(ctx)
	})
}

// KeptAnswer looks at both results of the helper.
func KeptAnswer(ctx context.Context, conn *sql.Conn, invoice int64, pay Pay) error {
	got, err := tryInvoice(ctx, conn, invoice)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	return errors.Join(pay(ctx), unlock(ctx, conn, invoice))
}

// MySQLOne goes on only with a 1: 0 means that the name is taken, NULL that the server failed.
func MySQLOne(ctx context.Context, conn *sql.Conn, name string, pay Pay) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errBusy
	}
	return errors.Join(pay(ctx), unlockName(ctx, conn, name))
}
