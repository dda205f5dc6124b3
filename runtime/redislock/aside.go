package redislock

import (
	"context"
	"sync"
	"sync/atomic"
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
	jobs    chan func() // nil sends one home
	stop    chan struct{}
	done    atomic.Int64 // jobs since the last sweep

	mu    sync.Mutex
	live  int
	sweep *time.Timer // set while there are any
}

// idle is how long a worker stays, up to twice that.
const idle = time.Second

func newWorkers(running *sync.WaitGroup) *workers {
	return &workers{running: running, jobs: make(chan func()), stop: make(chan struct{})}
}

// do runs job beside the caller.
func (w *workers) do(job func()) {
	w.done.Add(1)
	select {
	case w.jobs <- job: // one was waiting
		return
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live++; w.sweep == nil {
		// One timer for all: setting one for each job costs as much as the job's hand-over.
		w.sweep = time.AfterFunc(idle, w.sendHome)
	}
	w.running.Go(func() { w.work(job) })
}

func (w *workers) work(job func()) {
	for job != nil {
		job()
		select {
		case job = <-w.jobs:
		case <-w.stop:
			job = nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live--
}

// sendHome ends one worker, if they have had something to do lately, or else all that wait.
func (w *workers) sendHome() {
	for all := w.done.Swap(0) == 0; ; {
		select {
		case w.jobs <- nil:
			if all {
				continue
			}
		default:
		}
		break
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sweep == nil || w.live == 0 {
		w.sweep = nil
		return
	}
	w.sweep.Reset(idle)
}

// close lets no worker stay.
func (w *workers) close() {
	close(w.stop)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sweep != nil {
		w.sweep.Stop()
		w.sweep = nil
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
