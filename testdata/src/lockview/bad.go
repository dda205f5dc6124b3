// Package lockview is the console of a batch system: it looks in pg_locks to say which jobs run. A
// job's lock has one key (its number) or two (a site and a job on it). In bad.go the console reads
// the table wrongly and shows another answer than the truth.
package lockview

import (
	"context"
	"database/sql"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// Mine asks whether the connection holds a lock, by the number of the program's own process.
func Mine(ctx context.Context, conn *sql.Conn) (held bool, err error) {
	const q = `SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = $1`
	err = conn.QueryRowContext(ctx, q, os.Getpid()).Scan(&held) // want `(?i)getpid`
	return held, err
}

// Console is a console that reads through gorm.
type Console struct{ db *gorm.DB }

// NewConsole returns a console on db.
func NewConsole(db *gorm.DB) *Console { return &Console{db: db} }

// Locks counts this program's locks, it thinks.
func (c *Console) Locks(ctx context.Context) (n int64, err error) {
	self := os.Getpid()
	err = c.db.WithContext(ctx).Raw(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = ?`, self).Scan(&n).Error // want `(?i)getpid`
	return n, err
}

type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// heldBy is right for the pid of a backend.
func heldBy(ctx context.Context, q rowQuerier, pid int) (held bool, err error) {
	const text = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pg_locks.pid = $1 AND granted)`
	err = q.QueryRow(ctx, text, pid).Scan(&held)
	return held, err
}

// MinePgx gives the helper the wrong kind of pid.
func MinePgx(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
	return heldBy(ctx, conn, os.Getpid()) // want `(?i)getpid`
}

// Running asks for a job of a site, and takes any lock whose halves look alike.
func Running(ctx context.Context, pool *pgxpool.Pool, site, job uint32) (held bool, err error) {
	const q = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND objid = $2)`
	err = pool.QueryRow(ctx, q, site, job).Scan(&held) // want `objsubid`
	return held, err
}

// Numbered asks for a job by number, and takes a site's job for it.
func Numbered(ctx context.Context, pool *pgxpool.Pool, number int64) (held bool, err error) {
	const q = `SELECT EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = $1)`
	err = pool.QueryRow(ctx, q, number).Scan(&held) // want `objsubid`
	return held, err
}

// Numbers lists the running jobs by number; an int shifted by its own width is not shifted at all.
func Numbers(ctx context.Context, pool *pgxpool.Pool) ([]int64, error) {
	const q = `SELECT (classid::int << 32) | objid::int FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1`
	rows, err := pool.Query(ctx, q) // want `bigint`
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// NumbersUncast does not get that far: the server has no << for an oid.
func NumbersUncast(ctx context.Context, db *sql.DB) (number int64, err error) {
	const q = `SELECT (classid << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 LIMIT 1`
	err = db.QueryRowContext(ctx, q).Scan(&number) // want `bigint`
	return number, err
}
