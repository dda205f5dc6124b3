package callerpool

import (
	"context"
	"runtime"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Do is lock.Locker.Do with the Locker that all who call it with one pool share, so that they queue in one
// place and a key that is asked for again in one chain of calls is noticed.
//
// The first has the Locker made. It stays as long as the pool, because a Locker costs more than a lock, and
// goes without being closed: what its backend runs must end by itself when no lock is held. The backend must
// refer to the pool by Value only, which is not nil until Do returns; otherwise the pool would stay for ever.
func Do[S, P any](ctx context.Context, pool *P, make func(*Pool[P, S]) (*lock.Locker, error),
	key lock.Key, fn func(context.Context) error, opts ...lock.Option) error {
	defer runtime.KeepAlive(pool)
	locker, err := Of[S](pool).shared(make)
	if err != nil {
		return err
	}
	return locker.Do(ctx, key, fn, opts...)
}

// shared gives the Locker, which the first has made.
func (p *Pool[P, S]) shared(make func(*Pool[P, S]) (*lock.Locker, error)) (_ *lock.Locker, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locker == nil {
		p.locker, err = make(p)
	}
	return p.locker, err
}
