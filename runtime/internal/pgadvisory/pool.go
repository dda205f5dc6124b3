package pgadvisory

import (
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Pool is what is known of a pool that belongs to the caller, for locks whose connections come from it
// (pglock.Do, pgxlock.Do): the same for everybody who asks with the same pool, and gone with the pool.
type Pool struct {
	// Probe is for Options.Probe, so that the pool is asked once.
	Probe Probe

	mu      sync.Mutex
	holders int
	users   int
	locker  *lock.Locker // while users > 0, since it refers to the pool
}

// pools has a weak.Pointer[P] of each pool as its key.
var pools sync.Map

// PoolOf gives what is known of a pool: a *sql.DB, a *pgxpool.Pool.
func PoolOf[P any](pool *P) *Pool {
	key := weak.Make(pool)
	if known, ok := pools.Load(key); ok {
		return known.(*Pool)
	}
	known, loaded := pools.LoadOrStore(key, new(Pool))
	if !loaded {
		runtime.AddCleanup(pool, func(key weak.Pointer[P]) { pools.Delete(key) }, key)
	}
	return known.(*Pool)
}

// Pin counts one more connection of the pool that a lock has for itself, from before it is asked for until
// unpin. Max is how many the pool can open, 0 or less when there is no limit. The error is
// lock.ErrPoolExhausted when none would be left for the work under the locks. Unpin may be called again.
func (p *Pool) Pin(max int) (unpin func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if max > 0 && p.holders+1 >= max {
		return nil, fmt.Errorf("%w: %d of at most %d connections are for locks, one more would leave none for the work: "+
			"let the pool open more, or take locks from a pool of their own", lock.ErrPoolExhausted, p.holders, max)
	}
	p.holders++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.holders--
	}), nil
}

// Locker gives the Locker that all who use the pool at this time share, so that they queue in one place and
// a key that is asked for again in one chain of calls is noticed. The first has it made, the last closes
// it with done.
func (p *Pool) Locker(make func() (*lock.Locker, error)) (locker *lock.Locker, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		if p.locker, err = make(); err != nil {
			return nil, nil, err
		}
	}
	p.users++
	return p.locker, sync.OnceFunc(p.leave), nil
}

func (p *Pool) leave() {
	p.mu.Lock()
	p.users--
	var last *lock.Locker
	if p.users == 0 {
		last, p.locker = p.locker, nil
	}
	p.mu.Unlock()
	if last != nil {
		_ = last.Close() // holds nothing: closing has nothing to fail at
	}
}
