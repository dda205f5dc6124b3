package pgadvisory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Probe remembers that the server was found to be reached without a pooler that would lose session-level
// locks. The zero Probe has not asked yet.
type Probe struct {
	passed atomic.Bool

	once sync.Once
	turn chan struct{} // one asks, the others wait for what it finds
}

func (p *Probe) enter(ctx context.Context) (leave func(), err error) {
	p.once.Do(func() { p.turn = make(chan struct{}, 1) })
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

const poolerHelp = "connect to the server itself; or allow the pooler (option AllowPooler) if it is in session mode; " +
	"or use transaction-level locks (DoTx)"

// secondSession bounds how long the probe waits for another session to compare with.
const secondSession = 500 * time.Millisecond

// ask finds out whether session keeps its server process. A server that tells its process when the
// connection is made (BackendKeyData) and when it is asked tells the same, where a pooler makes up the
// first; without that, or when a pooler is allowed, a pooler that shares processes is what must show.
func (b *Backend) ask(ctx context.Context, session Session) error {
	pid, err := askPID(ctx, session)
	if err != nil {
		return err
	}
	if told, ok := session.PID(); ok && !b.opts.AllowPooler {
		if int64(told) != pid {
			return fmt.Errorf("%w: the connection was made with server process %d and is answered by %d; %s",
				lock.ErrPooler, told, pid, poolerHelp)
		}
		return nil
	}
	return b.compare(ctx, session, pid)
}

// compare looks whether two sessions that are held at once are one process, or one session becomes
// another. A pooler in transaction mode gives the process that it used last, so that on an idle one the
// first shows at once. When there is no second session, only the second can show.
func (b *Backend) compare(ctx context.Context, session Session, pid int64) error {
	other, found := b.other(ctx)
	if other != nil {
		defer other.Destroy() // one is enough: the pool would keep it idle
		if found == pid {
			return fmt.Errorf("%w: two connections are answered by one server process, %d; %s", lock.ErrPooler, pid, poolerHelp)
		}
	}
	again, err := askPID(ctx, session)
	if err != nil {
		return err
	}
	if again != pid {
		return b.moved(pid, again)
	}
	return nil
}

// other gets a second session and its process, or nil when there is none to be had quickly.
func (b *Backend) other(ctx context.Context) (Session, int64) {
	ctx, cancel := context.WithTimeout(ctx, secondSession)
	defer cancel()
	session, err := b.sessions.Get(ctx, true)
	if err != nil {
		return nil, 0
	}
	pid, err := askPID(ctx, session)
	if err != nil {
		session.Destroy() // a pooler in session mode may have no more processes
		return nil, 0
	}
	return session, pid
}

func askPID(ctx context.Context, session Session) (pid int64, err error) {
	err = session.QueryRow(ctx, pidSQL, nil, &pid)
	return pid, err
}
