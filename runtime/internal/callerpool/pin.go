package callerpool

import (
	"fmt"
	"sync"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Pin counts one more connection of the pool that a lock has for itself, from before it is asked for until
// unpin. Most is how many connections the pool may open, 0 or less when there is no limit. The error is
// lock.ErrPoolExhausted when none would be left for the work under the locks, which would wait for ever.
// Unpin may be called again.
func (p *Pool[P, S]) Pin(most int) (unpin func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most > 0 && p.pinned+1 >= most {
		return nil, fmt.Errorf("%w: %d of at most %d connections are for locks, one more would leave none for the work: "+
			"let the pool open more, or take locks from a pool of their own", lock.ErrPoolExhausted, p.pinned, most)
	}
	p.pinned++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pinned--
	}), nil
}
