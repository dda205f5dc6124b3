package pglock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// DoTx runs fn in a transaction that holds the transaction-level lock of key from before fn until the commit:
// for work that is one transaction. It takes one connection, and goes through poolers of every kind, since
// it needs the session for no longer than the transaction.
//
// The transaction is READ COMMITTED and the lock has a statement of its own, so that the first statement of
// fn sees what the holder before committed. When fn returns nil, the transaction is committed; when it
// returns an error, panics or calls runtime.Goexit, it is rolled back, and that goes on. When ctx ends it is
// not rolled back under fn's hands, but when fn returns, and cannot be committed any more.
//
// The options Wait, Try, Shared, ReleaseTimeout, which bounds the rollback, and WithObserver count. Waiting
// ends with ctx or Wait, for the session's lock_timeout does not bound it; it bounds fn's statements as ever.
// Those who wait in this process have no connection yet, except the first. Do not call fn's tx from several
// goroutines, nor end it.
//
// Errors: fn's, that of the commit, or those of lock.Locker.Acquire, when fn did not run.
func DoTx(ctx context.Context, db *sql.DB, key lock.Key, fn func(ctx context.Context, tx *sql.Tx) error, opts ...lock.Option) error {
	if db == nil {
		return fmt.Errorf("pglock: do %q: %w: nil *sql.DB", key, lock.ErrInvalid)
	}
	var t *transaction
	begin := func(waiting context.Context) (_ pgadvisory.Tx, err error) {
		t, err = begin(waiting, ctx, db)
		return t, err
	}
	return pgadvisory.DoTx(ctx, db, key, begin, func(ctx context.Context) error { return fn(ctx, t.Tx) }, opts...)
}

// transaction is a pgadvisory.Tx.
type transaction struct {
	*sql.Tx
	on  conn
	end context.CancelFunc // of the context of the transaction itself
}

// begin takes a connection, for which it waits no longer than waiting, and begins. The values for the
// transaction are ctx's; its end is not, by which database/sql would roll back while fn goes on.
func begin(waiting, ctx context.Context, db *sql.DB) (*transaction, error) {
	opened, _, err := aside(waiting, func(f func()) { go f() }, func() (*sql.Conn, func(), error) {
		conn, err := db.Conn(waiting)
		return conn, func() {}, err
	})
	if err != nil {
		return nil, err
	}
	on, err := below(opened)
	if err != nil {
		opened.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	t := &transaction{on: on, end: end}
	err = t.within(waiting, func() (err error) {
		t.Tx, err = on.BeginTx(life, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		return err
	})
	if err != nil {
		end()
		on.hangUp()
		return nil, err
	}
	return t, nil
}

// within runs do, which has the transaction's own context, for as long as ctx lasts.
func (t *transaction) within(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, t.end)
	defer stop()
	return t.on.bounded(ctx, do)
}

func (t *transaction) QueryRow(ctx context.Context, query string, args []any, dest ...any) error {
	return t.on.queryRow(ctx, query, args, dest...)
}

func (t *transaction) Commit(ctx context.Context) error {
	defer t.end()
	err := t.within(ctx, t.Tx.Commit)
	if err != nil && ctx.Err() != nil {
		t.on.hangUp() // whether it was committed is not known, nor what state the connection is in
		return err
	}
	t.on.Close()
	return err
}

func (t *transaction) Rollback(ctx context.Context) error {
	defer t.end()
	err := t.within(ctx, t.Tx.Rollback)
	if err != nil && !errors.Is(err, sql.ErrTxDone) {
		t.on.hangUp()
		return err
	}
	t.on.Close()
	return nil
}
