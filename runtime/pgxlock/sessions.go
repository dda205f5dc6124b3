package pgxlock

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// ownPool is a pool that has connections for locks only.
type ownPool struct {
	pool     *pgxpool.Pool
	prepared bool
	slots    chan struct{} // one value for each session that is out
}

func newOwnPool(pool *pgxpool.Pool, size int) *ownPool {
	return &ownPool{pool: pool, prepared: prepared(pool.Config().ConnConfig), slots: make(chan struct{}, size)}
}

// Get implements pgadvisory.Sessions.
func (p *ownPool) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		if nested {
			return nil, fmt.Errorf("%w: all %d connections of the Locker are in use, and the caller has one of them: raise MaxConns",
				lock.ErrPoolExhausted, cap(p.slots))
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("all %d connections of the Locker are in use (MaxConns): %w", cap(p.slots), context.Cause(ctx))
		}
	}
	s, err := acquire(ctx, p.pool, p.free)
	if err != nil {
		return nil, err
	}
	s.prepared = p.prepared
	return s, nil
}

func (p *ownPool) free() { <-p.slots }

// Close implements pgadvisory.Sessions.
func (p *ownPool) Close() error {
	p.pool.Close()
	return nil
}

// lentPool is the caller's pool, of which locks must leave a connection for the caller's work.
type lentPool struct{ *callerPool }

type callerPool = callerpool.Pool[pgxpool.Pool, pgadvisory.Probe]

// Get implements pgadvisory.Sessions. A connection that the work has comes back without this caller's
// doing unless nested: then the pool may be waited for in vain.
func (p lentPool) Get(ctx context.Context, nested bool) (pgadvisory.Session, error) {
	pool := p.Value()
	stat := pool.Stat()
	unpin, err := p.Pin(int(stat.MaxConns()))
	if err != nil {
		return nil, err
	}
	if nested && stat.AcquiredConns() >= stat.MaxConns() {
		unpin()
		return nil, fmt.Errorf("%w: all %d connections of the pool are in use, and the caller has one of them",
			lock.ErrPoolExhausted, stat.MaxConns())
	}
	s, err := acquire(ctx, pool, unpin)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close implements pgadvisory.Sessions. The pool is the caller's.
func (p lentPool) Close() error { return nil }

func acquire(ctx context.Context, pool *pgxpool.Pool, gone func()) (*session, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		gone()
		return nil, err
	}
	return &session{pooled: conn, conn: conn.Conn(), gone: gone}, nil
}
