package pgadvisory

import (
	"context"
	"errors"
	"time"
)

// watch notices that the session has ended, until Release.
func (h *hold) watch() {
	defer close(h.watched)
	for {
		ctx, cancel, ok := h.quiet()
		if !ok {
			return
		}
		lost := h.listen(ctx)
		cancel()
		if lost != nil {
			h.tell(lost)
			return
		}
	}
}

// quiet waits until nobody wants the session, and gives the context of one listening: it ends when
// somebody does, or when the heartbeat is due. Not ok says that the session is not ours any more.
func (h *hold) quiet() (ctx context.Context, cancel context.CancelFunc, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.wanted > 0 && !h.ended {
		h.left.Wait()
	}
	if h.ended {
		return nil, nil, false
	}
	ctx, cancel = context.WithTimeout(context.Background(), h.backend.opts.Heartbeat)
	h.interrupt = cancel
	return ctx, cancel, true
}

// listen takes the turn and waits for the connection's end, and asks for it when ctx has come to its
// deadline. The error is the reason of a loss.
func (h *hold) listen(ctx context.Context) error {
	h.turn <- struct{}{} // soon: whoever came in between has ended ctx
	defer func() { <-h.turn }()
	if h.gone() != nil {
		return nil
	}
	err := h.session.Park(ctx)
	due := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if errors.Is(err, errors.ErrUnsupported) {
		due, err = h.pause(ctx), nil
	}
	if err == nil && due {
		err = h.beat()
	}
	return h.losing(err)
}

// pause takes the place of Park with drivers that have none. True says that it is time to ask.
func (h *hold) pause(ctx context.Context) bool {
	timer := time.NewTimer(h.backend.opts.PollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
}

// beat asks whether the session is there. An error that the session survives, such as
// pg_cancel_backend's, is an answer too. Who has the turn calls it.
func (h *hold) beat() error {
	ctx, cancel := h.statement()
	defer cancel()
	pid, err := askPID(ctx, h.session)
	switch {
	case err != nil && survived(err):
		return nil
	case err != nil:
		return err
	case pid != h.pid:
		return h.backend.moved(h.pid, pid)
	}
	return nil
}

// losing marks the session as lost; who has the turn calls it, and tell without the turn with what it
// returns: nil when there is nothing to tell.
func (h *hold) losing(reason error) error {
	if reason == nil || !h.end(reason) {
		return nil
	}
	return reason
}

// tell ends the lost session and says so. It comes without the turn, because those who are told may
// release at once. They are told first: closing takes a moment.
func (h *hold) tell(lost error) {
	if lost == nil {
		return
	}
	h.request.Lost(lost)
	h.session.Destroy()
}
