package unlockorder

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
)

// DeferredInOrder defers the Close when there is a connection and the unlock when there is a lock,
// so that they run the other way round.
func DeferredInOrder(ctx context.Context, db *sql.DB, tenant int64, migrate Migrate) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn, tenant)) }()
	return migrate(ctx)
}

// InlineInOrder unlocks and only then gives the connection back.
func InlineInOrder(ctx context.Context, db *sql.DB, tenant int64, migrate Migrate) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return errors.Join(err, conn.Close())
	}
	workErr := migrate(ctx)
	unlockErr := unlock(ctx, conn, tenant)
	return errors.Join(workErr, unlockErr, conn.Close())
}

// SqlxInOrder unlocks and closes in one deferred function, in that order.
func SqlxInOrder(ctx context.Context, db *sqlx.DB, tenant int64, migrate Migrate) (err error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() {
		var released bool
		freeErr := conn.GetContext(context.WithoutCancel(ctx), &released, `SELECT pg_advisory_unlock($1)`, tenant)
		if freeErr == nil && !released {
			freeErr = errNotHeld
		}
		err = errors.Join(err, freeErr, conn.Close())
	}()
	return migrate(ctx)
}

// PooledInOrder releases the connection by a defer that was there first.
func PooledInOrder(ctx context.Context, pool *pgxpool.Pool, tenant int64, migrate Migrate) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return err
	}
	workErr := migrate(ctx)
	var released bool
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, tenant)
	if err := row.Scan(&released); err != nil {
		return errors.Join(workErr, err)
	}
	if !released {
		return errors.Join(workErr, errNotHeld)
	}
	return workErr
}

// OwnSession closes the session itself, which frees the lock: there is nothing to unlock.
func OwnSession(ctx context.Context, config *pgx.ConnConfig, tenant int64, migrate Migrate) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	workErr := migrate(ctx)
	return errors.Join(workErr, conn.Close(context.WithoutCancel(ctx)))
}

// MySQLInOrder defers the Close first.
func MySQLInOrder(ctx context.Context, db *sql.DB, name string, migrate Migrate) (err error) {
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
		return errBusy
	}
	defer func() {
		var released sql.NullInt64
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name)
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr, errNotHeld)
		}
	}()
	return migrate(ctx)
}
