package pgxlock

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Locker takes session-level locks on connections of its own. Close ends them.
type Locker struct {
	*lock.Locker
}

// Schema is the SQL that creates what Fencing and RunOnce need. It is for a migration, and may be run again.
var Schema = pgadvisory.Schema

// New makes a Locker with a pool of its own that connects as a copy of pool says, from pgxpool.ParseConfig.
// The copy differs in this: MaxConns is the option of this name; MinConns and MinIdleConns are 0, so
// that a Locker without locks has no connections in the end; PrepareConn, BeforeAcquire and AfterRelease
// are not called, because what they do for the program's statements would come before and after each lock.
//
// It connects when the first lock is taken. Ctx is for the making of the pool only. Errors wrap
// lock.ErrInvalid, or are pgxpool's.
func New(ctx context.Context, pool *pgxpool.Config, opts ...Option) (*Locker, error) {
	if pool == nil {
		return nil, fmt.Errorf("pgxlock: new: %w: nil *pgxpool.Config", lock.ErrInvalid)
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("pgxlock: new: %w", err)
	}
	own := pool.Copy()
	own.MaxConns, own.MinConns, own.MinIdleConns = int32(c.maxConns), 0, 0
	own.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) { return true, nil } // in place of BeforeAcquire too
	own.AfterRelease = nil
	opened, err := pgxpool.NewWithConfig(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("pgxlock: new: %w", err)
	}
	locker, err := lock.New(pgadvisory.New(newOwnPool(opened, c.maxConns), c.core), c.lock...)
	if err != nil {
		opened.Close()
		return nil, err
	}
	return &Locker{Locker: locker}, nil
}

// FromPool is New with the configuration of pool, of which it uses no connection.
func FromPool(pool *pgxpool.Pool, opts ...Option) (*Locker, error) {
	if pool == nil {
		return nil, fmt.Errorf("pgxlock: new: %w: nil *pgxpool.Pool", lock.ErrInvalid)
	}
	return New(context.Background(), pool.Config(), opts...)
}

// Do runs fn while it holds the lock of key, like lock.Locker.Do, on a connection of the caller's pool, for
// programs that keep no Locker. The connection stays out of the pool until fn has ended; when it would be the last that
// the pool may open, the error is lock.ErrPoolExhausted, because fn may need one. Whoever holds many locks at a time wants
// a Locker. All who call it with one pool share one, with the defaults of New.
func Do(ctx context.Context, pool *pgxpool.Pool, key lock.Key, fn func(context.Context) error, opts ...lock.Option) error {
	if pool == nil {
		return fmt.Errorf("pgxlock: do %q: %w: nil *pgxpool.Pool", key, lock.ErrInvalid)
	}
	return callerpool.Do(ctx, pool, newLent, key, fn, opts...)
}

// newLent makes the Locker of Do.
func newLent(pool *callerPool) (*lock.Locker, error) {
	return lock.New(pgadvisory.New(lentPool{pool}, pgadvisory.Options{Probe: &pool.Shared}))
}
