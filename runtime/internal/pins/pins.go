// Package pins counts the connections that lock holders keep of a pool, so that they can't come to
// have all of it: the work under the locks needs connections of the same pool, and would wait for
// ever.
package pins

import (
	"fmt"
	"sync"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// counts has the pools of which at least one connection is pinned. It is the process's, since Lockers
// that do not know of each other may share a pool.
var counts = struct {
	sync.Mutex
	of map[any]int
}{of: map[any]int{}}

// Pin counts one more connection of pool, a pointer such as *sql.DB, until unpin, of which only the
// first call does anything. Most is how many connections the pool may open, 0 when it has no limit: the
// error is lock.ErrPoolExhausted when this one would leave none for work.
func Pin(pool any, most int) (unpin func(), err error) {
	counts.Lock()
	defer counts.Unlock()
	n := counts.of[pool]
	if most > 0 && n+1 >= most {
		return nil, fmt.Errorf("%w: %d of %d connections hold locks, and one must be left for the work under them", lock.ErrPoolExhausted, n, most)
	}
	counts.of[pool] = n + 1
	return sync.OnceFunc(func() { release(pool) }), nil
}

// release forgets a pool without pins, so that the program may let go of it.
func release(pool any) {
	counts.Lock()
	defer counts.Unlock()
	if counts.of[pool]--; counts.of[pool] == 0 {
		delete(counts.of, pool)
	}
}
