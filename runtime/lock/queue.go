package lock

import (
	"container/list"
	"context"
	"sync"
)

// queues keeps, for each key, the callers of this process in the order in which they came. The first
// has the turn: only it asks the server. An exclusive caller keeps the turn until it has released
// the lock; one who wants the lock shared passes it on once it holds the lock, so that others may
// come in beside it.
type queues struct {
	mu    sync.Mutex
	byKey map[Key]*queue
}

type queue struct {
	shared  bool       // how the one who has the turn wants the lock
	waiting *list.List // of chan struct{}, one for each caller behind it; closed to pass the turn on
}

// enter waits for the turn on key. Queued says that someone was before. Without patience it fails
// at once with ErrNotAcquired when there is one; but two who want the lock shared are not in each
// other's way, and the second goes past the queue, without a turn to pass on.
func (q *queues) enter(ctx context.Context, key Key, shared, patient bool) (leave func(), queued bool, err error) {
	q.mu.Lock()
	one, busy := q.byKey[key]
	switch {
	case !busy:
		if q.byKey == nil {
			q.byKey = map[Key]*queue{}
		}
		q.byKey[key] = &queue{shared: shared, waiting: list.New()}
		q.mu.Unlock()
		return q.leaver(key), false, nil
	case !patient && shared && one.shared:
		q.mu.Unlock()
		return func() {}, true, nil
	case !patient:
		q.mu.Unlock()
		return nil, true, ErrNotAcquired
	}
	turn := waiter{shared: shared, ready: make(chan struct{})}
	place := one.waiting.PushBack(turn)
	q.mu.Unlock()
	select {
	case <-turn.ready:
		return q.leaver(key), true, nil
	case <-ctx.Done():
		q.abandon(key, one, place, turn)
		return nil, true, context.Cause(ctx)
	}
}

type waiter struct {
	shared bool
	ready  chan struct{}
}

// leaver passes the turn on, once.
func (q *queues) leaver(key Key) func() {
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.next(key)
	})
}

// next gives the turn to the first who waits, or forgets the key. The mutex is held.
func (q *queues) next(key Key) {
	one := q.byKey[key]
	first := one.waiting.Front()
	if first == nil {
		delete(q.byKey, key)
		return
	}
	turn := one.waiting.Remove(first).(waiter)
	one.shared = turn.shared
	close(turn.ready)
}

// abandon takes a caller who gave up out of the queue. When the turn came at the same moment, it is
// passed on.
func (q *queues) abandon(key Key, one *queue, place *list.Element, turn waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-turn.ready:
		q.next(key)
	default:
		one.waiting.Remove(place)
	}
}
