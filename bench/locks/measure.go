package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An outcome is what one measurement of one subject under one load saw. The times are sorted.
type outcome struct {
	acquire []time.Duration // with those that still waited at the end, as long as they had
	release []time.Duration
	cycle   []time.Duration // acquire and release; without contention only

	// handoff is from the call of release to the next grant, whoever gets it. From the release's return
	// would not do: a server that keeps a queue answers the next holder no later than the one who releases.
	handoff []time.Duration

	grants   []int // by contender
	elapsed  time.Duration
	requests int64 // to the server, when it was asked through a counting relay

	mallocs, bytes uint64 // of this process, all goroutines

	during, atEnd troubles
}

// troubles are what must not happen. They are counted apart for the time after the measurement's end,
// when the contexts of all who wait are cancelled: a library may go wrong there only.
type troubles struct {
	violations int64 // grants while another contender was inside
	errors     int64
	first      error
}

func (t troubles) add(more troubles) troubles {
	t.violations += more.violations
	t.errors += more.errors
	if t.first == nil {
		t.first = more.first
	}
	return t
}

func (o outcome) total() (n int) {
	for _, g := range o.grants {
		n += g
	}
	return n
}

// per is a figure of the whole measurement for each lock taken and released; 0 when none was.
func (o outcome) per(figure float64) float64 {
	if n := o.total(); n > 0 {
		return figure / float64(n)
	}
	return 0
}

// A run is one measurement while it goes on.
type run struct {
	load      load
	measuring atomic.Bool

	inside   atomic.Int64 // contenders between grant and release
	released atomic.Int64 // when release was last called, since begin; 0 when it never was
	begin    time.Time

	// entered is changed by holders only, without synchronisation: when two were inside at once, updates
	// can be lost, and the count differs from that of the grants.
	entered int

	mu            sync.Mutex
	endedAt       time.Time // zero before
	during, atEnd troubles
}

// A tally is what one contender saw. Nothing of it is shared while the run goes on.
type tally struct {
	acquire, release, handoff, cycle []time.Duration
	grants, all                      int // measured; with the warm-up
}

// warmup is how much of the duration runs before measuring begins: not all contenders start at once, and
// pools grow with what is asked of them.
const warmup = 0.25

// measure runs one subject under one load. Sent tells how many requests the server got so far; nil
// when nobody counts.
func measure(ctx context.Context, s subject, at address, key string, l load, duration time.Duration, sent func() int64) (outcome, error) {
	contenders, closeAll, err := assemble(ctx, s, at, key, l)
	defer closeAll()
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", s.name(), err)
	}
	if err := once(ctx, contenders); err != nil {
		return outcome{}, fmt.Errorf("%s: the first lock: %w", s.name(), err)
	}
	if sent == nil {
		sent = func() int64 { return 0 }
	}
	runtime.GC()
	r := &run{load: l, begin: time.Now()}
	tallies := make([]tally, l.contenders)
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i, take := range contenders {
		tallies[i].reserve(l)
		group.Go(func() { r.contend(waiting, ctx, take, &tallies[i]) })
	}
	time.Sleep(time.Duration(warmup * float64(duration)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	requests, start := sent(), time.Now()
	r.measuring.Store(true)
	time.Sleep(duration)
	r.measuring.Store(false)
	requests, elapsed := sent()-requests, time.Since(start)
	runtime.ReadMemStats(&after)
	r.end()
	stop()
	group.Wait()
	o := r.outcome(tallies)
	o.elapsed, o.requests = elapsed, requests
	o.mallocs, o.bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return o, nil
}

// assemble makes the clients and the contenders of a load. CloseAll is never nil.
func assemble(ctx context.Context, s subject, at address, key string, l load) (contenders []acquire, closeAll func(), err error) {
	var clients []client
	closeAll = func() {
		for _, c := range clients {
			c.close()
		}
	}
	for i := range l.contenders {
		if i == 0 || l.apart {
			c, err := s.open(ctx, at, key)
			if err != nil {
				return nil, closeAll, err
			}
			clients = append(clients, c)
		}
		take, err := clients[len(clients)-1].contender(ctx)
		if err != nil {
			return nil, closeAll, err
		}
		contenders = append(contenders, take)
	}
	return contenders, closeAll, nil
}

// once has every contender take and release the lock, one after the other: connections are made, statements
// prepared and scripts loaded, none of which is measured.
func once(ctx context.Context, contenders []acquire) error {
	for _, take := range contenders {
		if err := take.cycle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reserve makes room, so that what is measured does not allocate for being measured.
func (t *tally) reserve(l load) {
	size := 1 << 17 / l.contenders
	t.acquire = make([]time.Duration, 0, size)
	t.release = make([]time.Duration, 0, size)
	t.handoff = make([]time.Duration, 0, size)
	if l.contenders == 1 {
		t.cycle = make([]time.Duration, 0, size)
	}
}

// contend takes and releases the lock until waiting ends. The release has the context that lasts.
func (r *run) contend(waiting, lasting context.Context, take acquire, t *tally) {
	for waiting.Err() == nil {
		asked := time.Now()
		free, err := take(waiting)
		granted := time.Now()
		if err != nil {
			if waiting.Err() == nil {
				r.fail(fmt.Errorf("acquire: %w", err))
				time.Sleep(time.Millisecond) // not to turn a failing server's errors into load
			} else if wait := r.stopped().Sub(asked); wait > time.Millisecond {
				t.acquire = append(t.acquire, wait) // cut short by the end; how long giving up takes is another matter
			}
			continue
		}
		previous := r.enter()
		if r.load.hold > 0 {
			time.Sleep(r.load.hold)
		}
		r.leave()
		leaving := time.Now()
		err = free(lasting)
		freed := time.Now()
		if err != nil {
			r.fail(fmt.Errorf("release: %w", err))
		}
		t.all++
		if !r.measuring.Load() {
			continue
		}
		t.grants++
		t.acquire = append(t.acquire, granted.Sub(asked))
		t.release = append(t.release, freed.Sub(leaving))
		if previous > 0 && r.load.contenders > 1 {
			t.handoff = append(t.handoff, granted.Sub(r.begin)-previous)
		}
		if r.load.contenders == 1 {
			t.cycle = append(t.cycle, granted.Sub(asked)+freed.Sub(leaving))
		}
	}
}

// enter is what a holder does first. It gives when release was called for the holder before.
func (r *run) enter() (previous time.Duration) {
	if r.inside.Add(1) != 1 {
		r.note(troubles{violations: 1, first: errNotExclusive})
	}
	r.entered++
	return time.Duration(r.released.Load())
}

// leave is what a holder does last, before release: from its call on, another one may come in.
func (r *run) leave() {
	r.inside.Add(-1)
	r.released.Store(int64(time.Since(r.begin)))
}

func (r *run) fail(err error) { r.note(troubles{errors: 1, first: err}) }

func (r *run) note(t troubles) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.endedAt.IsZero() {
		r.atEnd = r.atEnd.add(t)
	} else {
		r.during = r.during.add(t)
	}
}

func (r *run) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endedAt = time.Now()
}

// stopped is when the waits were cancelled.
func (r *run) stopped() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endedAt
}

// outcome puts together what the contenders saw.
func (r *run) outcome(tallies []tally) outcome {
	o := outcome{during: r.during, atEnd: r.atEnd}
	all := 0
	for _, t := range tallies {
		o.acquire = append(o.acquire, t.acquire...)
		o.release = append(o.release, t.release...)
		o.handoff = append(o.handoff, t.handoff...)
		o.cycle = append(o.cycle, t.cycle...)
		o.grants = append(o.grants, t.grants)
		all += t.all
	}
	if all != r.entered && o.during.violations+o.atEnd.violations == 0 {
		o.during = o.during.add(troubles{violations: 1, first: errNotExclusive})
	}
	for _, times := range [][]time.Duration{o.acquire, o.release, o.handoff, o.cycle} {
		slices.Sort(times)
	}
	return o
}

// errNotExclusive is reported of a library that let two in at once.
var errNotExclusive = errors.New("two contenders were inside at once")
