package pgadvisory

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Tx is a transaction in READ COMMITTED of one of the drivers. Its methods are not called concurrently.
type Tx interface {
	// QueryRow is as Session's.
	QueryRow(ctx context.Context, sql string, args []any, dest ...any) error

	// Commit ends the transaction, within ctx; nothing is to be done after it, whatever it says.
	Commit(ctx context.Context) error

	// Rollback ends the transaction within ctx, or closes its connection. One that has ended already is nil.
	Rollback(ctx context.Context) error
}

// DoTx runs fn in a transaction that begin begins, under the transaction-level lock of key. All who give the
// same pool, a pointer, at a time queue in one place before they begin.
func DoTx(ctx context.Context, pool any, key lock.Key, begin func(context.Context) (Tx, error), fn func(context.Context) error, opts ...lock.Option) error {
	locker, done, err := transactions.locker(pool)
	if err != nil {
		return err
	}
	defer done()
	call := &txCall{begin: begin}
	return locker.Do(context.WithValue(ctx, txCallKey{}, call), key, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return call.commit(ctx, key)
	}, opts...)
}

// txCall is what one call of DoTx has for the backend, which package lock calls in between.
type txCall struct {
	begin func(context.Context) (Tx, error)
	tx    Tx
	ended bool
}

type txCallKey struct{}

func (c *txCall) commit(ctx context.Context, key lock.Key) error {
	// A caller who has gone does not want the work; drivers differ in whether they look.
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("postgresql: commit under %q: %w", key, err)
	}
	c.ended = true
	err := c.tx.Commit(ctx)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err) // whether it was committed is not known
	}
	return fmt.Errorf("postgresql: commit under %q: %w", key, err)
}

// txBackend takes transaction-level locks, for the txCall in the context.
type txBackend struct{}

func (txBackend) Name() string { return "postgresql" }
func (txBackend) Close() error { return nil }

func (txBackend) Acquire(ctx context.Context, request lock.Request) (lock.Hold, error) {
	call := ctx.Value(txCallKey{}).(*txCall)
	tx, err := call.begin(ctx)
	if err != nil {
		return nil, Failure(ctx, err)
	}
	if err := lockTx(ctx, tx, request); err != nil {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), request.ReleaseTimeout)
		defer cancel()
		_ = tx.Rollback(detached) // when it fails, the lock is gone with the connection
		return nil, err
	}
	call.tx = tx
	return (*txHold)(call), nil
}

// lockTx takes the request's one key.
func lockTx(ctx context.Context, tx Tx, request lock.Request) error {
	m := modeOf(request.Shared)
	query, args := m.waitTx, []any{request.Keys[0].Int64(), LockTimeout(request.Wait)}
	if request.Wait == 0 {
		query, args = m.tryTx, args[:1]
	}
	var granted bool
	if err := inTime(ctx, tx.QueryRow(ctx, query, args, &granted)); err != nil {
		return Failure(ctx, err)
	}
	if !granted {
		return lock.ErrNotAcquired
	}
	return nil
}

// txHold is the lock while the transaction is open. It is released by the transaction's end.
type txHold txCall

func (h *txHold) Tokens() []int64     { return nil }
func (h *txHold) Deadline() time.Time { return time.Time{} }

// Check has no caller: DoTx gives nobody its handle.
func (h *txHold) Check(context.Context) error { return errors.ErrUnsupported }

func (h *txHold) Release(ctx context.Context) error {
	if h.ended {
		return nil
	}
	h.ended = true
	if err := h.tx.Rollback(ctx); err != nil {
		return fmt.Errorf("%w: %w", lock.ErrUnconfirmed, err)
	}
	return nil
}

// transactions has the Lockers of DoTx, of those who are in it.
var transactions = txLockers{of: map[any]*txLocker{}}

// txLockers keeps a Locker for as long as anybody is in it: what it is kept for may be any value, to which
// there is no weak reference, and a single connection as well as a pool.
type txLockers struct {
	mu sync.Mutex
	of map[any]*txLocker
}

type txLocker struct {
	*lock.Locker
	users int
}

// locker gives the pool's Locker, and what says that the caller is done with it: nobody need close it, since
// it has nothing that runs. A pool that is no key of a
// map, such as a struct with a slice, has none to share.
func (t *txLockers) locker(pool any) (locker *lock.Locker, done func(), err error) {
	if pool == nil || !reflect.ValueOf(pool).Comparable() {
		locker, err = lock.New(txBackend{})
		return locker, func() {}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.of[pool]
	if one == nil {
		locker, err := lock.New(txBackend{})
		if err != nil {
			return nil, nil, err
		}
		one = &txLocker{Locker: locker}
		t.of[pool] = one
	}
	one.users++
	return one.Locker, func() { t.leave(pool) }, nil
}

func (t *txLockers) leave(pool any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.of[pool]
	if one.users--; one.users == 0 {
		delete(t.of, pool)
	}
}
