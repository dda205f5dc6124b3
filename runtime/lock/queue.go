package lock

import (
	"context"
	"slices"
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
	shared  bool // how the one who has the turn wants the lock
	waiting []*place
}

// place is one in the queue of key, behind others.
type place struct {
	queues *queues
	key    Key
	shared bool
	turn   chan struct{} // closed when the turn comes
}

// enter takes the turn on key when nobody is before, or else a place behind them.
func (q *queues) enter(key Key, shared bool) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, busy := q.byKey[key]
	if !busy {
		q.start(key, shared)
		return nil
	}
	behind := &place{queues: q, key: key, shared: shared, turn: make(chan struct{})}
	one.waiting = append(one.waiting, behind)
	return behind
}

// try takes the turn on key when nobody is before. Two who want the lock shared are not in each
// other's way: the second needs no turn, and has none to pass on.
func (q *queues) try(key Key, shared bool) (turn, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, busy := q.byKey[key]
	if busy {
		return false, shared && one.shared
	}
	q.start(key, shared)
	return true, true
}

// start makes the queue of a key whose turn the caller has. The mutex is held.
func (q *queues) start(key Key, shared bool) {
	if q.byKey == nil {
		q.byKey = map[Key]*queue{}
	}
	q.byKey[key] = &queue{shared: shared}
}

// wait waits for the turn, or gives the place up when ctx ends.
func (p *place) wait(ctx context.Context) error {
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		p.abandon()
		return context.Cause(ctx)
	}
}

// abandon gives the place up. When the turn came at the same moment, it is passed on.
func (p *place) abandon() {
	q := p.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.byKey[p.key]
	if i := slices.Index(one.waiting, p); i >= 0 {
		one.waiting = slices.Delete(one.waiting, i, i+1)
		return
	}
	q.next(p.key)
}

// leave passes the turn on key on.
func (q *queues) leave(key Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next(key)
}

// next gives the turn to the first who waits, or forgets the key. The mutex is held.
func (q *queues) next(key Key) {
	one := q.byKey[key]
	if len(one.waiting) == 0 {
		delete(q.byKey, key)
		return
	}
	first := one.waiting[0]
	one.waiting = slices.Delete(one.waiting, 0, 1)
	one.shared = first.shared
	close(first.turn)
}
