// Package poollock rebuilds the shelves of a library's catalogue, one instance of the program at a
// time for each shelf.
package poollock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"xorm.io/xorm"
)

// Rebuild is the work under the lock; it uses the same pool as everybody else.
type Rebuild func(ctx context.Context, shelf int64) error

// OnPool locks and unlocks on the pool itself.
func OnPool(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	if _, err := db.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf); err != nil { // want `^pg_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	err = db.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, shelf).Scan(&released) // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// OnPgxPool does not wait for another instance.
func OnPgxPool(ctx context.Context, pool *pgxpool.Pool, shelf int64, rebuild Rebuild) (released bool, err error) {
	var got bool
	err = pool.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, shelf).Scan(&got) // want `^pg_try_advisory_lock runs on .*\ba pool`
	if err != nil || !got {
		return false, err
	}
	defer func() {
		row := pool.QueryRow(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, shelf) // want `^pg_advisory_unlock runs on .*\ba pool`
		if scanErr := row.Scan(&released); err == nil {
			err = scanErr
		}
	}()
	return false, rebuild(ctx, shelf)
}

// Catalog keeps a gorm handle that is neither a transaction nor a pinned connection.
type Catalog struct{ gdb *gorm.DB }

// OpenCatalog opens the catalogue's database.
func OpenCatalog(dsn string) (*Catalog, error) {
	gdb, err := gorm.Open(postgres.Open(dsn), &gorm.Config{})
	return &Catalog{gdb: gdb}, err
}

// Rebuild locks through gorm.
func (c *Catalog) Rebuild(ctx context.Context, shelf int64, rebuild Rebuild) (released bool, err error) {
	if err := c.gdb.WithContext(ctx).Exec("SELECT pg_advisory_lock(?)", shelf).Error; err != nil { // want `^pg_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	err = c.gdb.WithContext(ctx).Raw("SELECT pg_advisory_unlock(?)", shelf).Scan(&released).Error // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// Close closes the catalogue's pool.
func (c *Catalog) Close() error {
	db, err := c.gdb.DB()
	if err != nil {
		return err
	}
	return db.Close()
}

// OnSqlx locks through sqlx.
func OnSqlx(ctx context.Context, db *sqlx.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	var got bool
	if err := db.GetContext(ctx, &got, `SELECT pg_try_advisory_lock($1)`, shelf); err != nil || !got { // want `^pg_try_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	err = db.GetContext(ctx, &released, `SELECT pg_advisory_unlock($1)`, shelf) // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// OnBun locks through bun's raw queries.
func OnBun(ctx context.Context, db *bun.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	if _, err := db.NewRaw("SELECT pg_advisory_lock(?)", shelf).Exec(ctx); err != nil { // want `^pg_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	err = db.NewRaw("SELECT pg_advisory_unlock(?)", shelf).Scan(ctx, &released) // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// OnXorm locks through xorm's engine.
func OnXorm(ctx context.Context, engine *xorm.Engine, shelf int64, rebuild Rebuild) (released bool, err error) {
	if _, err := engine.Exec("SELECT pg_advisory_lock($1)", shelf); err != nil { // want `^pg_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	_, err = engine.SQL("SELECT pg_advisory_unlock($1)", shelf).Get(&released) // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// OnBuilder binds squirrel's builders to the pool.
func OnBuilder(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	sq := squirrel.StatementBuilder.PlaceholderFormat(squirrel.Dollar).RunWith(db)
	if _, err := sq.Select().Column("pg_advisory_lock(?)", shelf).ExecContext(ctx); err != nil { // want `^pg_advisory_lock runs on .*\ba pool`
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	err = sq.Select().Column("pg_advisory_unlock(?)", shelf).ScanContext(ctx, &released) // want `^pg_advisory_unlock runs on .*\ba pool`
	return released, err
}

// querier is what the two helpers below need; both a pool and a pinned connection have it.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tryShelf and freeShelf make no mistake: what they run on is their caller's choice.
func tryShelf(ctx context.Context, q querier, shelf int64) (got bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, shelf).Scan(&got)
	return got, err
}

func freeShelf(ctx context.Context, q querier, shelf int64) (released bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, shelf).Scan(&released)
	return released, err
}

// ThroughHelpers gives the pool to the helpers.
func ThroughHelpers(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	got, err := tryShelf(ctx, db, shelf) // want `^pg_try_advisory_lock runs on .*\ba pool`
	if err != nil || !got {
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	return freeShelf(ctx, db, shelf) // want `^pg_advisory_unlock runs on .*\ba pool`
}

// Queries is what sqlc generates: it runs on whatever New or WithTx was given.
type Queries struct{ db querier }

// New makes queries of a pool or of a connection.
func New(db querier) *Queries { return &Queries{db: db} }

// WithTx makes queries of a transaction.
func (q *Queries) WithTx(tx *sql.Tx) *Queries { return &Queries{db: tx} }

const tryLockShelf = `-- name: TryLockShelf :one
SELECT pg_try_advisory_lock($1)`

// TryLockShelf runs the query of that name.
func (q *Queries) TryLockShelf(ctx context.Context, shelf int64) (bool, error) {
	var got bool
	err := q.db.QueryRowContext(ctx, tryLockShelf, shelf).Scan(&got)
	return got, err
}

const unlockShelf = `-- name: UnlockShelf :one
SELECT pg_advisory_unlock($1)`

// UnlockShelf runs the query of that name.
func (q *Queries) UnlockShelf(ctx context.Context, shelf int64) (bool, error) {
	var released bool
	err := q.db.QueryRowContext(ctx, unlockShelf, shelf).Scan(&released)
	return released, err
}

// ThroughQueries makes the queries of a pool.
func ThroughQueries(ctx context.Context, db *sql.DB, shelf int64, rebuild Rebuild) (released bool, err error) {
	q := New(db)
	got, err := q.TryLockShelf(ctx, shelf) // want `^pg_try_advisory_lock runs on .*\ba pool`
	if err != nil || !got {
		return false, err
	}
	if err := rebuild(ctx, shelf); err != nil {
		return false, err
	}
	return q.UnlockShelf(ctx, shelf) // want `^pg_advisory_unlock runs on .*\ba pool`
}

// OnMySQL takes a named lock on the pool.
func OnMySQL(ctx context.Context, db *sql.DB, name string, rebuild Rebuild) (released sql.NullInt64, err error) {
	var got sql.NullInt64
	if err := db.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil { // want `(?i)^get_lock runs on .*\ba pool`
		return released, err
	}
	if got.Int64 != 1 {
		return released, nil
	}
	if err := rebuild(ctx, 0); err != nil {
		return released, err
	}
	err = db.QueryRowContext(ctx, `SELECT RELEASE_LOCK(?)`, name).Scan(&released) // want `(?i)^release_lock runs on .*\ba pool`
	return released, err
}
