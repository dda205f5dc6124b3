package unlockresult

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

// ErrBusy says that another session has the lock; ErrLost that this one no longer had it when it
// came to release it, so that the work may have run beside somebody else's.
var (
	ErrBusy = errors.New("account is being settled elsewhere")
	ErrLost = errors.New("account was not locked any more")
)

const unlockTimeout = 5 * time.Second

// SettleChecked reads the boolean and takes false for what it is.
func SettleChecked(ctx context.Context, db *sql.DB, account int64, settle func(Exec) error) error {
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
	var released bool
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, account)
	if err := row.Scan(&released); err != nil {
		return errors.Join(workErr, err)
	}
	if !released {
		return errors.Join(workErr, ErrLost)
	}
	return workErr
}

// SettleDeferredChecked hands the answer of the deferred unlock to its caller.
func SettleDeferredChecked(ctx context.Context, pool *pgxpool.Pool, account int64, settle func(Exec) error) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock_shared($1)`, account); err != nil {
		return err
	}
	defer func() {
		unlockCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		var released bool
		row := conn.QueryRow(unlockCtx, `SELECT pg_advisory_unlock_shared($1)`, account)
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr, ErrLost)
		}
	}()
	return settle(func(statement string) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// SettleAndHangUp ends its session, and the lock with it: there is no answer that matters.
func SettleAndHangUp(ctx context.Context, config *pgx.ConnConfig, account int64, settle func(Exec) error) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, account); err != nil {
		return err
	}
	return settle(func(statement string) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// SettleAndDiscard throws the pooled connection away, lock and all.
func SettleAndDiscard(ctx context.Context, db *sql.DB, account int64, settle func(Exec) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.Raw(func(any) error { return driver.ErrBadConn })
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, account); err != nil {
		return err
	}
	return settle(func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return err
	})
}

// SettlePinnedChecked reads gorm's answer.
func SettlePinnedChecked(ctx context.Context, gdb *gorm.DB, account int64, settle func(Exec) error) error {
	return gdb.WithContext(ctx).Connection(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_lock(?)", account).Error; err != nil {
			return err
		}
		workErr := settle(func(statement string) error { return tx.Exec(statement).Error })
		var released bool
		free := tx.WithContext(context.WithoutCancel(ctx))
		if err := free.Raw("SELECT pg_advisory_unlock(?)", account).Scan(&released).Error; err != nil {
			return errors.Join(workErr, err)
		}
		if !released {
			return errors.Join(workErr, ErrLost)
		}
		return workErr
	})
}

// SettleThroughMethodsChecked looks at what unlock answers.
func SettleThroughMethodsChecked(ctx context.Context, db *sql.DB, id int64, settle func(Exec) error) error {
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
	released, err := a.unlock(ctx)
	if err == nil && !released {
		err = ErrLost
	}
	return errors.Join(workErr, err)
}

// SettleMySQLChecked takes anything but 1 for a lock that was lost.
func SettleMySQLChecked(ctx context.Context, db *sql.DB, name string, settle func(Exec) error) error {
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
	var released sql.NullInt64
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
	if err := row.Scan(&released); err != nil {
		return errors.Join(workErr, err)
	}
	if released.Int64 != 1 {
		return errors.Join(workErr, ErrLost)
	}
	return workErr
}
