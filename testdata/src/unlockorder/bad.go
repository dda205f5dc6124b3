// Package unlockorder migrates the schemas of tenants, one instance at a time for each tenant.
package unlockorder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
)

var (
	errNotHeld = errors.New("tenant was not locked")
	errBusy    = errors.New("tenant is being migrated elsewhere")
)

// Migrate is the work under the lock.
type Migrate func(ctx context.Context) error

// unlock takes false for an error.
func unlock(ctx context.Context, conn *sql.Conn, tenant int64) error {
	var released bool
	row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, tenant)
	if err := row.Scan(&released); err != nil {
		return fmt.Errorf("unlock tenant %d: %w", tenant, err)
	}
	if !released {
		return fmt.Errorf("unlock tenant %d: %w", tenant, errNotHeld)
	}
	return nil
}

// Deferred defers the Close last, so that it runs first.
func Deferred(ctx context.Context, db *sql.DB, tenant int64, migrate Migrate) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		conn.Close()
		return err
	}
	defer func() {
		var released bool
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, tenant) // want `pg_advisory_unlock runs after`
		if scanErr := row.Scan(&released); scanErr != nil || !released {
			err = errors.Join(err, scanErr)
		}
	}()
	defer conn.Close()
	return migrate(ctx)
}

// Inline gives the connection back as soon as the work is done, and unlocks through a helper.
func Inline(ctx context.Context, db *sql.DB, tenant int64, migrate Migrate) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return errors.Join(err, conn.Close())
	}
	workErr := migrate(ctx)
	closeErr := conn.Close()
	return errors.Join(workErr, closeErr, unlock(ctx, conn, tenant)) // want `pg_advisory_unlock runs after`
}

// Sqlx closes and unlocks in one deferred function, in that order.
func Sqlx(ctx context.Context, db *sqlx.DB, tenant int64, migrate Migrate) (err error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() {
		err = errors.Join(err, conn.Close())
		var released bool
		freeErr := conn.GetContext(context.WithoutCancel(ctx), &released, `SELECT pg_advisory_unlock($1)`, tenant) // want `pg_advisory_unlock runs after`
		if freeErr != nil || !released {
			err = errors.Join(err, freeErr)
		}
	}()
	return migrate(ctx)
}

// Pooled uses a pgx connection that it has given back, which panics.
func Pooled(ctx context.Context, pool *pgxpool.Pool, tenant int64, migrate Migrate) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, tenant); err != nil {
		conn.Release()
		return err
	}
	workErr := migrate(ctx)
	conn.Release()
	var released bool
	row := conn.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, tenant) // want `pg_advisory_unlock runs after`
	if err := row.Scan(&released); err != nil || !released {
		return errors.Join(workErr, err)
	}
	return workErr
}

// MySQL defers the Close last, so that it runs first.
func MySQL(ctx context.Context, db *sql.DB, name string, migrate Migrate) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil || got.Int64 != 1 {
		return errors.Join(err, errBusy, conn.Close())
	}
	defer func() {
		var released sql.NullInt64
		row := conn.QueryRowContext(context.WithoutCancel(ctx), `SELECT RELEASE_LOCK(?)`, name) // want `(?i)release_lock runs after`
		if scanErr := row.Scan(&released); scanErr != nil || released.Int64 != 1 {
			err = errors.Join(err, scanErr)
		}
	}()
	defer conn.Close()
	return migrate(ctx)
}
