// Package callerpool is what this process knows of a pool that belongs to the caller and that locks take
// connections of: how many they have, and what those who keep no Locker of their own share. Lockers that do
// not know of each other find it by the pool.
package callerpool

import (
	"runtime"
	"sync"
	"weak"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Pool is what is known of one P, a sql.DB or a pgxpool.Pool: the same for everybody who asks with the
// same pointer, and gone with the pool, to which it refers weakly.
type Pool[P, S any] struct {
	// Shared is for the locks' backend, which knows what is to be remembered of a pool. A backend has one
	// S: a pool that is asked for with another is known a second time.
	Shared S

	pool weak.Pointer[P]

	mu     sync.Mutex
	pinned int
	locker *lock.Locker // nil before the first Do
}

// key is a pool's in pools, which has a *Pool[P, S] for it.
type key[P, S any] struct{ pool weak.Pointer[P] }

var pools sync.Map

// Of gives what is known of a pool, which is not nil.
func Of[S, P any](pool *P) *Pool[P, S] {
	k := key[P, S]{weak.Make(pool)}
	if known, ok := pools.Load(k); ok {
		return known.(*Pool[P, S])
	}
	known, loaded := pools.LoadOrStore(k, &Pool[P, S]{pool: k.pool})
	if !loaded {
		runtime.AddCleanup(pool, func(k key[P, S]) { pools.Delete(k) }, k)
	}
	return known.(*Pool[P, S])
}

// Value is the pool, or nil when it is gone: not while anybody uses it.
func (p *Pool[P, S]) Value() *P { return p.pool.Value() }
