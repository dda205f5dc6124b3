package mysqllock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A hold is one connection with locks on it. Whoever has sent on own may use the session: a heartbeat, a
// Check or the Release. The fields below own belong to it, too.
type hold struct {
	session *session
	names   []string
	tokens  []int64
	lost    func(error)
	every   time.Duration // from one heartbeat to the next
	within  time.Duration // for an answer

	life context.Context // of statements that Release need not wait for
	end  context.CancelFunc

	own   chan struct{}
	over  bool  // the session is gone or going
	loss  error // why, unless it was released
	timer *time.Timer

	asking sync.WaitGroup // the heartbeat that the timer is set for, or that runs, and each Check
}

// newHold keeps a session. No goroutine runs for it until the first heartbeat is due, and none between
// two: short locks cost a timer.
func newHold(b *backend, s *session, names []string, tokens []int64, lost func(error)) *hold {
	h := &hold{session: s, names: names, tokens: tokens, lost: lost, every: b.heartbeat,
		within: max(3*b.heartbeat, time.Second), own: make(chan struct{}, 1)}
	h.life, h.end = context.WithCancel(context.Background())
	h.own <- struct{}{} // the first beat finds the timer set
	h.asking.Add(1)
	h.timer = time.AfterFunc(h.every, h.beat)
	<-h.own
	return h
}

func (h *hold) Tokens() []int64 { return h.tokens }

// Deadline is zero: a session's lock has no lease.
func (h *hold) Deadline() time.Time { return time.Time{} }

// beat runs in the timer's goroutine. The loss is told last, when Release does not wait for this
// goroutine any more: an observer that hears of it may release.
func (h *hold) beat() {
	if err := h.tick(); errors.Is(err, lock.ErrLost) {
		h.lost(err)
	}
}

// tick asks once and, unless that was the end, sets the timer again.
func (h *hold) tick() error {
	defer h.asking.Done()
	select {
	case h.own <- struct{}{}:
		defer func() { <-h.own }()
	case <-h.life.Done():
		return nil
	}
	if h.over {
		return nil
	}
	if err := h.probe(); err != nil {
		return err
	}
	h.asking.Add(1)
	h.timer.Reset(h.every)
	return nil
}

// probe asks the server, and gives up the session unless it answers that all is held. The caller owns it.
func (h *hold) probe() error {
	err := h.session.held(h.life, h.within, h.names)
	if serverCode(err) != 0 { // such as a KILL QUERY, which is not the end of the connection
		err = h.session.held(h.life, h.within, h.names)
	}
	switch {
	case h.life.Err() != nil:
		return fmt.Errorf("%w: being released", lock.ErrNotHeld) // Release has the session next
	case err == nil:
		return nil
	}
	if !errors.Is(err, lock.ErrLost) {
		err = fmt.Errorf("%w: %w", lock.ErrLost, err)
	}
	h.over, h.loss = true, err
	h.session.destroy()
	return err
}

// Check asks the server. Its context ends the waiting for the answer but not the statement, which would
// cost the connection and with it the lock.
func (h *hold) Check(ctx context.Context) error {
	select {
	case h.own <- struct{}{}:
	case <-h.life.Done():
		return lock.ErrNotHeld
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if h.over {
		defer func() { <-h.own }()
		return cmp.Or(h.loss, lock.ErrNotHeld)
	}
	answer := make(chan error, 1)
	h.asking.Add(1)
	go func() {
		err := h.probe()
		<-h.own
		answer <- err
		h.asking.Done() // as in beat, before an observer hears of it
		if errors.Is(err, lock.ErrLost) {
			h.lost(err)
		}
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release waits for a heartbeat or Check under way, frees the locks, and returns when no goroutine of
// the hold runs any more.
func (h *hold) Release(ctx context.Context) error {
	var late error
	select {
	case h.own <- struct{}{}:
	case <-ctx.Done():
		late = fmt.Errorf("%w: %w", lock.ErrUnconfirmed, context.Cause(ctx))
		h.end() // makes the driver give up the statement under way
		h.own <- struct{}{}
	}
	h.end()
	if h.timer.Stop() {
		h.asking.Done() // in place of the heartbeat that does not come
	}
	err := h.loss // which may have been noticed since Release was called
	switch {
	case h.over:
	case late != nil:
		err = late
		h.session.destroy()
	default:
		err = h.session.unlock(ctx, h.names)
	}
	h.over = true
	<-h.own
	h.asking.Wait()
	return err
}
