package pgadvisory

import (
	"sync"
	"time"
)

// watchAfter is how long a hold lasts before a goroutine watches it. Most locks are released before.
const watchAfter = 20 * time.Millisecond

// The stages of a hold, which leaves the first one once.
const (
	young int32 = iota
	watching
	released // before it was watched
)

// A starter starts the watches of holds that last. One timer is for all, and is not stopped when a hold is
// released: to set a timer wakes a thread, which costs more than everything else that a short hold needs.
type starter struct {
	mu    sync.Mutex
	timer *time.Timer // set while there are holds
	holds []youngHold // in order of time; some are released
}

type youngHold struct {
	*hold
	since time.Time
}

// later has h watched when it has lasted.
func (s *starter) later(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, youngHold{h, time.Now()})
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(watchAfter, s.start)
	case len(s.holds) == 1:
		s.timer.Reset(watchAfter)
	}
}

// start starts the watches that are due, and comes again for the others.
func (s *starter) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, due := time.Now(), 0
	for ; due < len(s.holds) && now.Sub(s.holds[due].since) >= watchAfter; due++ {
		h := s.holds[due].hold
		h.watched = make(chan struct{}) // read by those only who find it watching
		if h.stage.CompareAndSwap(young, watching) {
			h.backend.running.Go(h.watch)
		}
	}
	kept := copy(s.holds, s.holds[due:])
	clear(s.holds[kept:])
	s.holds = s.holds[:kept]
	if kept > 0 {
		s.timer.Reset(watchAfter - now.Sub(s.holds[0].since))
	}
}

// close leaves no timer. No hold is left.
func (s *starter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
