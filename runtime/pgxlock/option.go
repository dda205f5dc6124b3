package pgxlock

import (
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// DefaultMaxConns is how many connections the pool of a Locker opens at most.
const DefaultMaxConns = 8

// An Option changes how a Locker keeps its locks.
type Option func(*config)

type config struct {
	core     pgadvisory.Options
	lock     []lock.Option
	maxConns int
}

// MaxConns is how many connections the Locker may open: DefaultMaxConns unless said, at least 1. It is how many
// locks can be held, or waited for at the server, at a time; who wants one more waits for a connection, unless it
// holds a lock of the Locker already: that is lock.ErrPoolExhausted.
func MaxConns(n int) Option { return func(c *config) { c.maxConns = n } }

// AllowPooler is for a pooler in session mode between the program and the server, such as a PgBouncer, which
// keeps session-level locks. Without it every pooler is lock.ErrPooler; one in transaction mode is refused all
// the same when it shows.
func AllowPooler() Option { return func(c *config) { c.core.AllowPooler = true } }

// Fencing gives each lock a token (lock.Token) that is larger than all before. The database needs what
// Schema creates.
func Fencing() Option { return func(c *config) { c.core.Fencing = true } }

// Heartbeat is how often a connection that holds a lock is asked for a sign of life, which is what notices
// a silent network: 5 s unless said. The end of the session itself is noticed at once.
func Heartbeat(every time.Duration) Option { return func(c *config) { c.core.Heartbeat = every } }

// HeartbeatTimeout is how long the sign of life may take before the lock is lost: 5 s unless said.
func HeartbeatTimeout(d time.Duration) Option {
	return func(c *config) { c.core.HeartbeatTimeout = d }
}

// Defaults are options for all locks of the Locker. Those of a call win.
func Defaults(opts ...lock.Option) Option {
	return func(c *config) { c.lock = append(c.lock, opts...) }
}

// newConfig applies the options. Errors wrap lock.ErrInvalid.
func newConfig(opts []Option) (config, error) {
	c := config{maxConns: DefaultMaxConns}
	for _, option := range opts {
		option(&c)
	}
	if c.maxConns < 1 {
		return c, fmt.Errorf("%w: MaxConns(%d) is less than 1", lock.ErrInvalid, c.maxConns)
	}
	return c, c.core.Check()
}
