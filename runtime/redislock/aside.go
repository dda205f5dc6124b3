package redislock

import (
	"context"
	"sync"
)

// A call runs in a goroutine of its own. Go-redis looks at a context before it sends, but waits for a
// reply as long as its ReadTimeout says, whatever becomes of the context; its deadline alone counts,
// and only with ContextTimeoutEnabled. Whoever must return when its context ends waits beside the call.
type call[T any] struct {
	done  chan struct{} // closed when it has returned
	value T
}

// aside starts a call that group counts.
func aside[T any](group *sync.WaitGroup, do func() T) *call[T] {
	c := &call[T]{done: make(chan struct{})}
	group.Add(1)
	go func() {
		defer group.Done()
		defer close(c.done)
		c.value = do()
	}()
	return c
}

// wait gives what the call gave; false when ctx ended before.
func (c *call[T]) wait(ctx context.Context) (value T, ok bool) {
	select {
	case <-c.done:
		return c.value, true
	case <-ctx.Done():
		select {
		case <-c.done:
			return c.value, true
		default:
			return value, false
		}
	}
}
