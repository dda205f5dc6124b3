package reliability_test

import (
	"context"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

// network has a proxy between lockers and servers.
var network = map[string]func(*site){
	"a lock is lost within its bound when the network goes silent":            lostInSilence,
	"a release in a silent network is bounded and leaves nothing":             releaseInSilence,
	"an acquire in a silent network is bounded and leaves nothing":            acquireInSilence,
	"an acquire that must connect in a silent network is bounded":             connectInSilence,
	"a waiter whose connection breaks leaves nothing":                         brokenWaiter,
	"a connection that breaks loses a session's lock, and no lease":           brokenHolder,
	"a half-open connection is heard of within the bound of a silent network": halfOpen,
}

// networkOfLeases is what sessions can't fail in: they live on at the server until the network is back.
var networkOfLeases = map[string]func(*site){
	"leases do not overlap when the network goes silent": func(s *site) { s.silenceAfterRenewal(3) },
}

// holdThrough holds a new key through a proxy, for longer than a renewal or a heartbeat takes.
func (s *site) holdThrough() (p *faultproxy.Proxy, h *lock.Handle, k lock.Key) {
	s.Helper()
	for range 5 { // a machine that stalls may lose it before the fault
		p, behind := s.proxy()
		k = s.key()
		h = s.acquire(s.locker(behind, quick), k, lock.ReleaseTimeout(release))
		time.Sleep(max(quick.heartbeat, quick.ttl/3) + 50*time.Millisecond)
		if h.Guard() == nil {
			return p, h, k
		}
	}
	s.Fatalf("before the fault: %v", h.Guard())
	return nil, nil, k
}

func lostInSilence(s *site) {
	rival := s.locker(s.source, calm)
	s.within(s.silent, "loss in a silent network", func() time.Duration {
		p, h, k := s.holdThrough()
		p.Blackhole(true)
		var guard error // at the grant to the next: the clock decides it, however late the loss is heard of
		waiter := start(func() (*lock.Handle, error) {
			next, err := rival.Acquire(s.ctx(), k)
			guard = h.Guard()
			return next, err
		})
		took := s.lost(h)
		s.want(h.Release(s.ctx()), lock.ErrLost)
		if !s.lease { // its session ends for the server when the network is back
			p.Blackhole(false)
		}
		o := s.receive(waiter)
		if o.err != nil {
			s.Fatal(o.err)
		}
		s.want(guard, lock.ErrLost, lock.ErrNotHeld) // it may have been released already
		s.release(o.h)
		p.Blackhole(false)
		s.wantFree(k)
		return took
	})
}

// silenceAfterRenewal has the network go silent at moments between two renewals. When the next enters, the clock
// has told the one before that its lease is over. That it has left by then as well is for a machine that lets it
// run in time, which a loaded one does not each time.
func (s *site) silenceAfterRenewal(rounds int) {
	section, end, err := s.kind.section(s.source)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { end() })
	rival := s.locker(s.source, calm)
	for n := range rounds {
		after := time.Duration(n) * quick.ttl / 3 / time.Duration(rounds)
		var overlap error
		for start := time.Now(); ; {
			overlap = s.silenceAfter(after, section, rival)
			if overlap == nil || s.Failed() || time.Since(start) > persistence {
				break
			}
			s.Logf("silence after %v: %v", after, overlap)
		}
		if overlap != nil {
			s.Errorf("silence after %v, each time: %v", after, overlap)
		}
	}
}

// silenceAfter has the network go silent some time after a grant, and gives what the record shows of the two.
func (s *site) silenceAfter(after time.Duration, section stress.Section, rival *lock.Locker) error {
	s.Helper()
	if err := section.Prepare(s.ctx()); err != nil {
		s.Fatal(err)
	}
	k, ctx := s.key(), s.ctx()
	p, behind := s.proxy()
	a := s.locker(behind, quick)
	var both sync.WaitGroup
	entered := make(chan context.Context, 1)
	both.Go(func() {
		defer close(entered)
		err := a.Do(ctx, k, func(inner context.Context) error {
			token, _ := lock.Token(inner)
			visit, err := section.Enter(ctx, token)
			if err != nil {
				return err
			}
			entered <- inner
			<-inner.Done()
			return section.Leave(ctx, visit) // on the way that is not silent
		}, lock.ReleaseTimeout(release))
		s.want(err, lock.ErrLost)
	})
	first := <-entered
	if first == nil {
		s.Fatal("the first did not enter")
	}
	time.Sleep(after)
	p.Blackhole(true)
	both.Go(func() {
		_, err := stress.Load{Goroutines: 1, Rounds: 1, Hold: 10 * time.Millisecond}.Run(ctx, section,
			func(ctx context.Context, fn func(context.Context) error) error {
				return rival.Do(ctx, k, func(ctx context.Context) error {
					s.want(lock.Guard(first), lock.ErrLost, lock.ErrNotHeld) // it may have been released already
					return fn(ctx)
				})
			})
		if err != nil {
			s.Error(err)
		}
	})
	both.Wait()
	p.Blackhole(false)
	r, err := stress.Inspect(s.ctx(), section)
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("%+v", r)
	if r.Visits != 2 || r.Open != 0 || r.Stale != 0 {
		s.Errorf("%+v, want 2 visits and none open", r)
	}
	return r.Err()
}

func releaseInSilence(s *site) {
	const bound = 300 * time.Millisecond
	rival := s.locker(s.source, calm)
	s.within(bound+s.grace, "release in a silent network", func() time.Duration {
		p, behind := s.proxy()
		k := s.key()
		h := s.acquire(s.locker(behind, quick), k, lock.ReleaseTimeout(bound))
		p.Blackhole(true)
		start := time.Now()
		s.want(h.Release(s.ctx()), lock.ErrUnconfirmed, lock.ErrLost)
		took := time.Since(start)
		p.Blackhole(false)
		s.taken(rival, k)
		s.wantFree(k)
		return took
	})
}

func acquireInSilence(s *site) { s.acquireThroughSilence(true) }

func connectInSilence(s *site) { s.acquireThroughSilence(false) }

// acquireThroughSilence wants that an acquire ends soon after its bound, and leaves nothing. A locker that is
// not warm has no connection yet.
func (s *site) acquireThroughSilence(warm bool) {
	const bound = 300 * time.Millisecond
	rival := s.locker(s.source, calm)
	most := bound + time.Second/2 + s.grace
	for what, limit := range map[string]func() (context.Context, lock.Option){
		"wait": func() (context.Context, lock.Option) { return s.ctx(), lock.Wait(bound) },
		"context": func() (context.Context, lock.Option) {
			ctx, cancel := context.WithTimeout(s.Context(), bound)
			s.Cleanup(cancel)
			return ctx, lock.Wait(patience)
		},
	} {
		s.within(most, "acquire in a silent network, bounded by its "+what, func() time.Duration {
			p, behind := s.proxy()
			l, k := s.locker(behind, quick), s.key()
			if warm {
				s.taken(l, s.key())
			}
			p.Blackhole(true)
			ctx, option := limit()
			began := time.Now()
			o := s.receive(start(func() (*lock.Handle, error) { return l.Acquire(ctx, k, option) }))
			took := time.Since(began)
			if s.want(o.err, lock.ErrTimeout); o.err == nil {
				s.release(o.h)
			}
			p.Blackhole(false)
			s.taken(rival, k)
			s.wantFree(k)
			return took
		})
	}
}

func brokenWaiter(s *site) {
	faults := map[string]func(*faultproxy.Proxy){
		"cut":       func(p *faultproxy.Proxy) { p.Cut() },
		"reset":     func(p *faultproxy.Proxy) { p.Reset() },
		"half-open": func(p *faultproxy.Proxy) { p.HalfOpen() },
		"silence":   func(p *faultproxy.Proxy) { p.Blackhole(true) },
	}
	holder, rival := s.locker(s.source, calm), s.locker(s.source, calm)
	for name, fault := range faults {
		p, behind := s.proxy()
		k := s.key()
		h := s.acquire(holder, k)
		waits := s.locker(behind, quick)
		s.taken(waits, s.key()) // connects
		ctx, cancel := context.WithCancel(s.ctx())
		waiter := start(func() (*lock.Handle, error) { return waits.Acquire(ctx, k) })
		time.Sleep(50 * time.Millisecond)
		fault(p)
		time.Sleep(10 * time.Millisecond)
		cancel()
		if o := s.receive(waiter); o.err == nil {
			s.Errorf("%s: granted beside its holder", name)
		}
		s.release(h)
		p.Blackhole(false)
		// MariaDB and MySQL look for the end of a waiter's connection once a second, and may have granted
		// the lock to it meanwhile.
		s.Logf("%s: taken after %v", name, s.taken(rival, k))
		s.wantFree(k)
	}
}

func brokenHolder(s *site) {
	faults := map[string]func(*faultproxy.Proxy){
		"cut":   func(p *faultproxy.Proxy) { p.Cut() },
		"reset": func(p *faultproxy.Proxy) { p.Reset() },
	}
	if s.lease {
		keptThrough(s, faults)
		return
	}
	for name, fault := range faults {
		s.lostThrough(s.ended, name, fault)
	}
}

// lostThrough wants that a session's lock is lost within the bound after the fault, and can be taken then.
func (s *site) lostThrough(bound time.Duration, name string, fault func(*faultproxy.Proxy)) {
	s.Helper()
	rival := s.locker(s.source, calm)
	s.within(bound, "loss after "+name, func() time.Duration {
		p, h, k := s.holdThrough()
		fault(p)
		took := s.lost(h)
		s.want(h.Release(s.ctx()), lock.ErrLost)
		s.taken(rival, k)
		s.wantFree(k)
		return took
	})
}

// keptThrough wants that a lease outlives the faults, for longer than it would without renewal. A machine
// that stalls may lose one, not each of several.
func keptThrough(s *site, faults map[string]func(*faultproxy.Proxy)) {
	s.Helper()
	const ttl = 3 * time.Second
	rival := s.locker(s.source, calm)
	var lost error
	for range 6 {
		lost = nil
		k := s.key()
		p, behind := s.proxy()
		h := s.acquire(s.locker(behind, quick), k, lock.TTL(ttl))
		for _, fault := range faults {
			time.Sleep(ttl / 4)
			fault(p)
		}
		for end := time.Now().Add(ttl + ttl/4); lost == nil && time.Now().Before(end); time.Sleep(ttl / 20) {
			lost = h.Guard()
		}
		if lost == nil {
			_, err := rival.Acquire(s.ctx(), k, lock.Try())
			s.want(err, lock.ErrNotAcquired)
		}
		if err := h.Release(s.ctx()); lost == nil && err != nil {
			lost = err
		}
		s.wantFree(k)
		if lost == nil {
			return
		}
	}
	s.Errorf("lost each time: %v", lost)
}

func halfOpen(s *site) {
	if s.lease { // a renewal on another connection may keep it, but then it is kept
		rival := s.locker(s.source, calm)
		p, h, k := s.holdThrough()
		p.HalfOpen()
		time.Sleep(2 * quick.ttl)
		kept := h.Guard() == nil
		s.Logf("kept: %v", kept)
		err := h.Check(s.ctx())
		if kept && err != nil {
			kept = h.Guard() == nil // it may have been lost meanwhile
		}
		if kept != (err == nil) {
			s.Errorf("guard says %v, the server %v", kept, err)
		}
		_ = h.Release(s.ctx()) // ErrLost when it was not kept
		s.taken(rival, k)
		s.wantFree(k)
		return
	}
	s.lostThrough(s.silent, "half-open", func(p *faultproxy.Proxy) { p.HalfOpen() })
}
