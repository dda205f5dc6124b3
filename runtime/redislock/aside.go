package redislock

import (
	"context"
	"sync"
	"time"
)

// workers run calls in goroutines of their own. Go-redis looks at a context before it sends, but waits
// for a reply as long as its ReadTimeout says, whatever becomes of the context; its deadline alone
// counts, and only with ContextTimeoutEnabled. Whoever must return when its context ends waits beside
// the call.
//
// A worker stays for a moment to do the next call: go-redis needs a deep stack, which a new goroutine
// would grow anew each time, for a third of the time of a round trip on a near network.
type workers struct {
	running *sync.WaitGroup
	jobs    chan func()
	stop    <-chan struct{} // closed: none stays
}

// idle is how long a worker stays.
const idle = time.Second

// do runs job beside the caller.
func (w *workers) do(job func()) {
	select {
	case w.jobs <- job: // one was waiting
	default:
		w.running.Go(func() { w.work(job) })
	}
}

func (w *workers) work(job func()) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		job()
		timer.Reset(idle)
		select {
		case job = <-w.jobs:
		case <-timer.C:
			return
		case <-w.stop:
			return
		}
	}
}

// A call is one that runs beside who waits for it.
type call struct {
	done  chan struct{} // closed when it has returned
	reply reply
}

// call starts what gives a reply.
func (w *workers) call(do func() reply) *call {
	c := &call{done: make(chan struct{})}
	w.do(func() {
		defer close(c.done)
		c.reply = do()
	})
	return c
}

// wait gives what the call gave; false when ctx ended before.
func (c *call) wait(ctx context.Context) (reply, bool) {
	select {
	case <-c.done:
		return c.reply, true
	case <-ctx.Done():
		select {
		case <-c.done:
			return c.reply, true
		default:
			return reply{}, false
		}
	}
}
