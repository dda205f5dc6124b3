package withruntime

import (
	"context"
	"database/sql"
	"errors"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

// PrintNamed holds a named lock of MySQL around the work.
func PrintNamed(ctx context.Context, db *sql.DB, press string, work func(context.Context) error) error {
	return mysqllock.Do(ctx, db, lock.LiteralKey(press), work)
}

// errPrinting says that another session has the press.
var errPrinting = errors.New("press is printing")

// Trim takes one by hand, and drops the 1, 0 or NULL of its release.
func Trim(ctx context.Context, db *sql.DB, press string, work func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var ours sql.NullInt64
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, press).Scan(&ours); err != nil {
		return err
	}
	if ours.Int64 != 1 {
		return errPrinting
	}
	failed := work()
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, press); err != nil { // want `(?i)answer of release_lock`
		return err
	}
	return failed
}
