package pgxlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Beginner begins transactions: a *pgxpool.Pool, or a *pgxpool.Conn or *pgx.Conn that nothing else uses
// meanwhile.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// DoTx runs fn in a transaction that holds the transaction-level lock of key from before fn until the commit:
// for work that is one transaction. It takes one connection of pool, and goes through poolers of every kind,
// since it needs the session for no longer than the transaction; through a pooler that knows no prepared
// statements the pool needs default_query_exec_mode=exec, as for other statements.
//
// The transaction is READ COMMITTED and the lock has a statement of its own, so that the first statement of
// fn sees what the holder before committed. When fn returns nil, the transaction is committed; when it
// returns an error, panics or calls runtime.Goexit, it is rolled back, and that goes on. When ctx ends the
// lock is held until fn returns, unless a statement with ctx is under way, with which pgx closes the
// connection; there is no commit any more.
//
// The options Wait, Try, Shared, ReleaseTimeout, which bounds the rollback, and WithObserver count. Waiting
// ends with ctx or Wait, for the session's lock_timeout does not bound it; it bounds fn's statements as ever.
// Those who wait in this process have no connection yet, except the first. Do not call fn's tx from several
// goroutines, nor end it.
//
// Errors: fn's, that of the commit, or those of lock.Locker.Acquire, when fn did not run.
func DoTx(ctx context.Context, pool Beginner, key lock.Key, fn func(ctx context.Context, tx pgx.Tx) error, opts ...lock.Option) error {
	if v := reflect.ValueOf(pool); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("pgxlock: do %q: %w: nil %T", key, lock.ErrInvalid, pool)
	}
	var t transaction
	begin := func(ctx context.Context) (_ pgadvisory.Tx, err error) {
		t.Tx, err = pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		return t, err
	}
	return pgadvisory.DoTx(ctx, pool, key, begin, func(ctx context.Context) error { return fn(ctx, t.Tx) }, opts...)
}

// transaction is a pgadvisory.Tx. The pool takes back its connection when it ends, and closes one whose
// transaction could not be ended.
type transaction struct{ pgx.Tx }

func (t transaction) QueryRow(ctx context.Context, query string, args []any, dest ...any) error {
	return t.Tx.QueryRow(ctx, query, args...).Scan(dest...)
}

func (t transaction) Rollback(ctx context.Context) error {
	err := t.Tx.Rollback(ctx)
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil
	}
	return err
}
