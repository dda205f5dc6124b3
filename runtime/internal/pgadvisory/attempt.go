package pgadvisory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// An attempt is an acquire under way, on one session.
type attempt struct {
	backend *Backend
	session Session
	request lock.Request
	start   time.Time

	pid    int64   // that the first lock statement returned, 0 before
	tokens []int64 // of the keys that are held
}

// lock takes one more key. After an error the key may be held nevertheless: the server may have granted
// it in the moment in which the wait ended.
func (a *attempt) lock(ctx context.Context, key lock.Key) error {
	sql, args := a.statement(key)
	var pid, token int64
	if err := inTime(ctx, a.session.QueryRow(ctx, sql, args, &pid, &token)); err != nil {
		return Failure(ctx, err)
	}
	if err := a.samePID(pid); err != nil {
		return err
	}
	a.pid = pid
	if token < 0 {
		return lock.ErrNotAcquired
	}
	a.tokens = append(a.tokens, token)
	return nil
}

func (a *attempt) statement(key lock.Key) (sql string, args []any) {
	m, fencing := modeOf(a.request.Shared), a.backend.opts.Fencing
	if a.request.Wait == 0 {
		if fencing {
			return m.tryFencing, []any{key.Int64()}
		}
		return m.try, []any{key.Int64()}
	}
	wait := a.request.Wait
	if wait > 0 {
		wait = max(wait-time.Since(a.start), 0)
	}
	if fencing {
		return m.waitFencing, []any{LockTimeout(wait), key.Int64()}
	}
	return m.wait, []any{LockTimeout(wait), key.Int64()}
}

// samePID reports ErrPooler when the statement was not answered by the process of those before it.
func (a *attempt) samePID(pid int64) error {
	before := a.pid
	if known, ok := a.session.PID(); ok && before == 0 && !a.backend.opts.AllowPooler {
		before = int64(known)
	}
	if before == 0 || before == pid {
		return nil
	}
	return a.backend.moved(before, pid)
}

// moved is the error of a session that another server process answers for, which also puts the probe
// in doubt.
func (b *Backend) moved(before, now int64) error {
	b.probe.passed.Store(false)
	return fmt.Errorf("%w: statements of one connection ran in server processes %d and %d; %s", lock.ErrPooler, before, now, poolerHelp)
}

// undo leaves nothing of a failed attempt: neither on a session that others get, nor at the server.
func (a *attempt) undo(ctx context.Context, failed error) {
	if failed == lock.ErrNotAcquired && len(a.tokens) == 0 {
		a.session.Return() // an answer, not an error: there is nothing
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.request.ReleaseTimeout)
	defer cancel()
	var pid int64
	var freed bool
	m := modeOf(a.request.Shared)
	err := a.session.QueryRow(ctx, m.undo, []any{list(a.request.Keys), m.name}, &pid, &freed)
	if err != nil || !freed || a.samePID(pid) != nil || errors.Is(failed, lock.ErrPooler) {
		a.session.Destroy()
		return
	}
	a.session.Return()
}
