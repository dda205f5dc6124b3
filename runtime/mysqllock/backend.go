package mysqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// name is the backend's, for errors and observers.
const name = "mysql"

type backend struct {
	pool *callerPool
	kept *sql.DB // of a Locker that the program keeps, with which the pool stays; nil for Do's
	settings
	killers sync.WaitGroup // of orphan.go
}

// callerPool is a pool of which nothing is to be remembered for the server.
type callerPool = callerpool.Pool[sql.DB, nothing]

type nothing struct{}

var _ lock.Backend = (*backend)(nil)

func (b *backend) Name() string { return name }

// Close waits for what looks after waits that were given up. Every hold has been released by then.
func (b *backend) Close() error {
	b.killers.Wait()
	return nil
}

// staleTries is how many connections that turn out to be closed are replaced: the pool may have kept
// them over a restart of the server.
const staleTries = 3

// Acquire takes every lock on one connection, in the order of the keys.
func (b *backend) Acquire(ctx context.Context, request lock.Request) (lock.Hold, error) {
	if request.Shared {
		return nil, fmt.Errorf("shared: %w: GET_LOCK is always exclusive", errors.ErrUnsupported)
	}
	names := make([]string, len(request.Keys))
	for i, k := range request.Keys {
		names[i] = k.Name64()
	}
	wait := patience{wait: request.Wait, step: b.waitStep, since: time.Now()}
	stale := 0
	for {
		s, err := b.open(ctx, request.Nested)
		if err != nil {
			return nil, err
		}
		g := &grab{backend: b, session: s, names: names, wait: wait, mark: newMark()}
		tokens, err := g.all(ctx)
		switch {
		case err == nil:
			return newHold(b, s, names, tokens, request.Lost), nil
		case errors.Is(err, errForeign) && request.Wait != 0:
			// What another believes to hold is held: wait for it, on another connection. This one stays
			// as it was found, and out of the pool, so that it does not come again.
			defer s.giveBack()
			continue
		case errors.Is(err, errForeign):
			s.giveBack()
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		g.undo(ctx, request.ReleaseTimeout, err)
		// The driver has promised that a statement with this error was not run.
		if !errors.Is(err, driver.ErrBadConn) || g.got > 0 || stale == staleTries || ctx.Err() != nil {
			return nil, err
		}
		stale++
	}
}

// A grab is one attempt to take every lock on one connection.
type grab struct {
	*backend
	*session
	names []string
	wait  patience
	mark  string
	got   int // how many of names are held
}

// all takes the locks, and then their tokens.
func (g *grab) all(ctx context.Context) (tokens []int64, err error) {
	for i := range g.names {
		if err := g.one(ctx, i); err != nil {
			return nil, err
		}
		g.got++
	}
	if !g.fencing {
		return nil, nil
	}
	return g.session.tokens(ctx, g.names)
}

// one waits for the lock of names[i].
func (g *grab) one(ctx context.Context, i int) error {
	var fresh []string
	if i == 0 {
		fresh = g.names
	}
	for {
		wait, start := g.wait.next(), time.Now()
		answers, err := g.ask(ctx, wait+answerWithin, getStatement(g.mark, g.names[i], wait, fresh), 1)
		if err != nil {
			if wait > 0 && (ctx.Err() != nil || errors.Is(err, errSilent)) {
				g.killWaiter(g.mark)
			}
			return deadlock(err)
		}
		switch a := answers[0]; {
		case !a.Valid:
			return errNull
		case a.Int64 == foreign:
			return errForeign
		case a.Int64 == 1:
			return nil
		}
		if err := g.wait.after(ctx, wait, time.Since(start)); err != nil {
			return &unanswered{err}
		}
	}
}

// unanswered is an error after which the locks that are held are known: the server said that this one
// was not granted.
type unanswered struct{ error }

func (u *unanswered) Unwrap() error { return u.error }

// undo frees what a failed attempt holds. The connection is kept only when what is on it is known: after
// a plain no, a deadlock, or a server's error to the statement for a token.
func (g *grab) undo(ctx context.Context, within time.Duration, err error) {
	plain := errors.As(err, new(*unanswered))
	known := plain || errors.Is(err, lock.ErrDeadlock) || g.got == len(g.names) && serverCode(err) != 0
	switch {
	case !known:
		g.destroy()
	case g.got == 0:
		g.giveBack()
	default:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		_ = g.unlock(ctx, g.names[:g.got]) // in doubt the connection is closed
	}
}
