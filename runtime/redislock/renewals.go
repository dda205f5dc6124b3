package redislock

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	renewalsPerTTL = 3  // a renewal is due every third of the TTL
	retriesPerTTL  = 10 // after one that failed, a tenth later
	earlyPerTTL    = 20 // one that is due within a twentieth goes with those that are due now
	patiencePerTTL = 4  // one that is not answered within a quarter is sent again, on another connection

	batchSize = 256 // renewals in one pipeline
)

// renewals renews the leases of all holds of a backend. A timer starts a round when the first of them
// is due, in a goroutine that sends what is due and ends: there is none between rounds, and none for
// locks that are held for less than a third of their TTL. A round sends a pipeline for each server, in a
// goroutine of its own while it is under way, so that a silent server delays no other's renewals.
type renewals struct {
	backend *backend

	mu     sync.Mutex
	leases byDue // those that wait; a lease that is being renewed is not in it
	timer  *time.Timer
	armed  time.Time // when the timer will fire; zero: it is not set
	closed bool
}

func newRenewals(b *backend) *renewals { return &renewals{backend: b} }

// add begins to renew a lease that was taken with a request sent at that time.
func (r *renewals) add(l *lease, sent time.Time) {
	r.push(l, sent.Add(l.hold.request.TTL/renewalsPerTTL))
}

func (r *renewals) push(l *lease, due time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.finished {
		return
	}
	l.due = due
	if l.place == absent {
		heap.Push(&r.leases, l)
	} else {
		heap.Fix(&r.leases, l.place)
	}
	r.arm()
}

// remove ends the renewal of leases. The timer may fire once for nothing.
func (r *renewals) remove(leases []*lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range leases {
		l.finished = true
		if l.place != absent {
			heap.Remove(&r.leases, l.place)
		}
	}
}

// arm sets the timer for the first lease, unless it fires before. The mutex is held.
func (r *renewals) arm() {
	if r.closed || len(r.leases) == 0 {
		return
	}
	due := r.leases[0].due
	if !r.armed.IsZero() && !due.Before(r.armed) {
		return
	}
	r.armed = due
	if r.timer == nil {
		r.timer = time.AfterFunc(time.Until(due), r.round)
	} else {
		r.timer.Reset(time.Until(due))
	}
}

// close ends the rounds. No lease is left then.
func (r *renewals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// round sends the renewals that are due.
func (r *renewals) round() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.backend.running.Add(1)
	defer r.backend.running.Done()
	var due []*lease
	for now := time.Now(); len(r.leases) > 0; {
		first := r.leases[0]
		if first.due.Add(-first.hold.request.TTL / earlyPerTTL).After(now) {
			break
		}
		due = append(due, heap.Pop(&r.leases).(*lease))
	}
	r.armed = time.Time{}
	r.arm()
	r.mu.Unlock()
	for way, leases := range r.ways(due) {
		for batch := range slices.Chunk(leases, batchSize) {
			r.backend.running.Go(func() { r.renew(batch, way.ttl) })
		}
	}
}

// way is what the leases of one pipeline have in common.
type way struct {
	server string
	ttl    time.Duration
}

func (r *renewals) ways(due []*lease) map[way][]*lease {
	ways := map[way][]*lease{}
	for _, l := range due {
		w := way{r.backend.server(l.name()), l.hold.request.TTL}
		ways[w] = append(ways[w], l)
	}
	return ways
}

// server tells which server has a key, by a name of its own. It must not wait, since all who are due wait for
// it: a ClusterClient that has loaded the cluster's state once, as to take a lock, looks into what it has, and
// loads it anew in a goroutine of its own; a Ring looks into memory.
func (b *backend) server(key string) string {
	var node *redis.Client
	var err error
	switch c := b.client.(type) {
	case *redis.Client:
		return ""
	case *redis.ClusterClient:
		node, err = c.MasterForKey(b.life, key)
	case *redis.Ring:
		node, err = c.GetShardClientForKey(key)
	}
	if node == nil || err != nil {
		return key // alone, so that it disturbs no other
	}
	return node.Options().Addr
}

// renew sends one pipeline, and tells the holds. When there is no answer for long, as on a connection
// that the network has forgotten, its leases are due again, on another connection; the answer to
// either counts. A lease can't have more than patiencePerTTL of them under way, since it ends then.
func (r *renewals) renew(batch []*lease, ttl time.Duration) {
	sent := time.Now()
	overdue := time.AfterFunc(ttl/patiencePerTTL, func() {
		for _, l := range batch {
			r.push(l, time.Now())
		}
	})
	defer overdue.Stop()
	// A reply after the TTL is of no use.
	ctx, cancel := context.WithTimeout(r.backend.life, ttl)
	defer cancel()
	answers := r.backend.pipeline(ctx, renewScript, batch, milliseconds(ttl))
	var tell []func()
	for i, l := range batch {
		o := l.hold.renewed(l, sent, answers[i].n, answers[i].err)
		if o.more {
			r.push(l, o.due)
		}
		if o.tell != nil {
			tell = append(tell, o.tell)
		}
	}
	for _, f := range tell { // last: an observer that takes its time delays no lease of the batch
		f()
	}
}

// byDue is a heap of leases; the one that is due first is its first.
type byDue []*lease

const absent = -1

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h byDue) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byDue) Push(x any) {
	l := x.(*lease)
	l.place = len(*h)
	*h = append(*h, l)
}

func (h *byDue) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h, l.place = old[:len(old)-1], absent
	return l
}
