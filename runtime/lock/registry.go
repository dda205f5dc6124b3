package lock

import (
	"fmt"
	"sync"
)

// maxNames bounds the memory of the registry: a program that locks a key for each of its customers
// has as many names. Names beyond it are compared with those remembered but not remembered.
const maxNames = 1 << 16

// registry remembers which name stands for a 64-bit value in this process.
type registry struct {
	mu    sync.Mutex
	names map[int64]Key
}

// process is the registry of this process. Backends with other values than 64 bits share it: a
// program's names should differ everywhere.
var process registry

// check remembers k, or returns ErrKeyCollision when another key has its value.
func (r *registry) check(k Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.names[k.value]
	switch {
	case ok && known != k:
		return fmt.Errorf("%w: %s and %s are both %d", ErrKeyCollision, known, k, k.value)
	case !ok && len(r.names) < maxNames:
		if r.names == nil {
			r.names = map[int64]Key{}
		}
		r.names[k.value] = k
	}
	return nil
}
