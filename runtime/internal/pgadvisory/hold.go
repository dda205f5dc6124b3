package pgadvisory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A hold is the locks of one request on their session.
//
// The session is used by whoever has the turn: the watch (watch.go), which sits on it most of the time
// and can be interrupted; Check and Claim; Release. Statements do not run with the contexts of callers,
// whose end would kill the connection and the lock with it.
type hold struct {
	backend *Backend
	session Session
	pid     int64
	request lock.Request
	tokens  []int64

	stage   atomic.Int32  // young at first
	watched chan struct{} // of a watched hold: closed when the watch has ended

	turn chan struct{} // holds one value while somebody has the turn

	mu        sync.Mutex
	left      sync.Cond          // wanted has become smaller
	wanted    int                // who have the turn or wait for it, other than the watch
	interrupt context.CancelFunc // of the watch, while it wants or has the turn
	cancel    context.CancelFunc // of the statement that runs, other than Release's
	aborted   bool               // Release did not get the turn in time: no statement may take any
	ended     bool               // the session is not ours any more
	lost      error              // why, unless Release ended it
}

// held makes the hold of an attempt that has every key.
func (a *attempt) held() *hold {
	h := &hold{backend: a.backend, session: a.session, pid: a.pid, request: a.request, turn: make(chan struct{}, 1)}
	if a.backend.opts.Fencing {
		h.tokens = a.tokens
	}
	h.left.L = &h.mu
	a.backend.holds.add(h)
	a.backend.starter.later(h)
	return h
}

// Tokens gives the fencing tokens, nil without fencing.
func (h *hold) Tokens() []int64 { return h.tokens }

// Deadline is zero: a session's lock lasts as long as the session.
func (h *hold) Deadline() time.Time { return time.Time{} }

// enter takes the turn within ctx.
func (h *hold) enter(ctx context.Context) error {
	h.mu.Lock()
	h.wanted++
	if h.interrupt != nil {
		h.interrupt()
	}
	h.mu.Unlock()
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		h.unwant()
		return context.Cause(ctx)
	}
}

// leave gives the turn back.
func (h *hold) leave() {
	<-h.turn
	h.unwant()
}

func (h *hold) unwant() {
	h.mu.Lock()
	h.wanted--
	h.mu.Unlock()
	h.left.Broadcast()
}

// end marks the session as not ours any more. False says that it was so before. Who has the turn calls it.
func (h *hold) end(lost error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.ended
	if !was {
		h.ended, h.lost = true, lost
	}
	return !was
}

// gone is nil as long as the session is ours.
func (h *hold) gone() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.ended:
		return nil
	case h.lost == nil:
		return lock.ErrNotHeld
	default:
		return fmt.Errorf("%w: %w", lock.ErrLost, h.lost)
	}
}

// Release unlocks every key in one statement. The session goes back only when the server said true for
// each of them and said so in the process that locked them.
func (h *hold) Release(ctx context.Context) error {
	h.backend.holds.remove(h)
	watched := !h.stage.CompareAndSwap(young, released)
	if err := h.enter(ctx); err != nil {
		h.abort()
		h.backend.running.Go(h.discard)
		return fmt.Errorf("%w: %w", lock.ErrUnconfirmed, err)
	}
	if err := h.gone(); err != nil {
		h.leave()
		return err
	}
	err := h.unlock(ctx)
	h.end(nil)
	h.leave()
	if watched {
		<-h.watched
	}
	return err
}

// statement gives the context of a statement other than Release's. Who has the turn calls it.
func (h *hold) statement() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), h.backend.opts.HeartbeatTimeout)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel = cancel; h.aborted {
		cancel()
	}
	return ctx, cancel
}

// abort ends the statement that runs, and those to come.
func (h *hold) abort() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.aborted = true; h.cancel != nil {
		h.cancel()
	}
}

// discard ends the session as soon as the statement that is under way on it has failed.
func (h *hold) discard() {
	_ = h.enter(context.Background()) // which does not end
	if h.end(nil) {
		h.session.Destroy()
	}
	h.leave()
}

func (h *hold) unlock(ctx context.Context) error {
	m, keys := modeOf(h.request.Shared), h.request.Keys
	sql, args := m.unlock, []any{keys[0].Int64()}
	if len(keys) > 1 {
		sql, args = m.unlockAll, []any{list(keys)}
	}
	var pid int64
	var unlocked bool
	err := inTime(ctx, h.session.QueryRow(ctx, sql, args, &pid, &unlocked))
	switch {
	case err != nil && endedByServer(err):
		err = fmt.Errorf("%w: %w", lock.ErrLost, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", lock.ErrUnconfirmed, err)
	case pid != h.pid:
		err = h.backend.moved(h.pid, pid)
	case !unlocked:
		err = fmt.Errorf("%w: the server says so", lock.ErrNotHeld)
	default:
		h.session.Return()
		return nil
	}
	h.session.Destroy()
	return err
}

// Check asks pg_locks whether every key is granted to this session in its mode.
func (h *hold) Check(ctx context.Context) error {
	return h.do(ctx, func(ctx context.Context) error {
		var pid, count int64
		m := modeOf(h.request.Shared)
		err := h.session.QueryRow(ctx, countSQL, []any{list(h.request.Keys), m.name}, &pid, &count)
		switch {
		case err != nil:
			return err
		case pid != h.pid:
			return fmt.Errorf("%w: %w", lock.ErrLost, h.backend.moved(h.pid, pid))
		case count != int64(h.values()):
			return fmt.Errorf("%w: the session holds %d of its %d keys", lock.ErrLost, count, h.values())
		}
		return nil
	})
}

// values counts the different values of the keys, which are in order. Names beyond what the process
// remembers may share one.
func (h *hold) values() int {
	n := 1
	for i, key := range h.request.Keys[1:] {
		if key.Int64() != h.request.Keys[i].Int64() {
			n++
		}
	}
	return n
}

// do runs f, which uses the session, and returns when f has ended or ctx has. After an error that may
// have been the connection's, the session is asked whether it lives.
func (h *hold) do(ctx context.Context, f func(ctx context.Context) error) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	h.backend.running.Go(func() {
		lost := h.gone()
		if lost != nil {
			h.leave()
			done <- lost
			return
		}
		bounded, cancel := h.statement()
		err := f(bounded)
		cancel()
		if err != nil && !errors.Is(err, lock.ErrLost) && !errors.Is(err, ErrNoRow) {
			if lost = h.beat(); lost != nil {
				err = fmt.Errorf("%w: %w", lock.ErrLost, errors.Join(err, lost))
			}
		}
		lost = h.losing(lost)
		h.leave()
		h.tell(lost)
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
