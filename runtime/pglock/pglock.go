package pglock

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Locker takes session-level locks on the connections of one *sql.DB.
type Locker struct {
	*lock.Locker
	db *sql.DB
}

// Schema is the SQL that creates what Fencing and RunOnce need. It is for a migration, and may be run again.
var Schema = pgadvisory.Schema

// An Option changes how a Locker keeps its locks.
type Option func(*config)

type config struct {
	core pgadvisory.Options
	lock []lock.Option
}

// AllowPooler is for a pooler in session mode between the program and the server. Without it a pooler is
// lock.ErrPooler, where it can be told from the server: with pgx by the process id that the connection was
// made with, with every driver by answers of more than one process. One in transaction mode is refused
// all the same when it shows.
func AllowPooler() Option { return func(c *config) { c.core.AllowPooler = true } }

// Fencing gives each lock a token (lock.Token) that is larger than all before. The database needs what
// Schema creates.
func Fencing() Option { return func(c *config) { c.core.Fencing = true } }

// Heartbeat is how often a connection that holds a lock is asked for a sign of life, which is what notices
// a silent network: 5 s unless said. See PollInterval for drivers other than pgx.
func Heartbeat(every time.Duration) Option { return func(c *config) { c.core.Heartbeat = every } }

// HeartbeatTimeout is how long the sign of life may take before the lock is lost: 5 s unless said. So the loss
// in a silent network is noticed within Heartbeat + HeartbeatTimeout, with drivers other than pgx within
// PollInterval + HeartbeatTimeout.
func HeartbeatTimeout(d time.Duration) Option {
	return func(c *config) { c.core.HeartbeatTimeout = d }
}

// PollInterval takes the place of Heartbeat for drivers that can't read from a connection between
// statements: 50 ms unless said. It is how late the end of a session is noticed with them, and each asking
// is a statement.
func PollInterval(every time.Duration) Option { return func(c *config) { c.core.PollInterval = every } }

// Defaults are options for all locks of the Locker. Those of a call win.
func Defaults(opts ...lock.Option) Option {
	return func(c *config) { c.lock = append(c.lock, opts...) }
}

// New makes a Locker over db, which it neither opens nor closes, and does not talk to yet. Close the Locker
// before db. Errors wrap lock.ErrInvalid.
func New(db *sql.DB, opts ...Option) (*Locker, error) {
	if db == nil {
		return nil, fmt.Errorf("pglock: new: %w: nil *sql.DB", lock.ErrInvalid)
	}
	var c config
	for _, option := range opts {
		option(&c)
	}
	if err := c.core.Check(); err != nil {
		return nil, fmt.Errorf("pglock: new: %w", err)
	}
	pool := callerpool.Of[pgadvisory.Probe](db)
	c.core.Probe = &pool.Shared
	locker, err := lock.New(pgadvisory.New(&sessions{pool: pool, kept: db}, c.core), c.lock...)
	if err != nil {
		return nil, err
	}
	return &Locker{Locker: locker, db: db}, nil
}

// Do runs fn while it holds the lock of key, like lock.Locker.Do, for programs that keep no Locker. All who
// call it with one db share one, with the defaults of New.
func Do(ctx context.Context, db *sql.DB, key lock.Key, fn func(context.Context) error, opts ...lock.Option) error {
	if db == nil {
		return fmt.Errorf("pglock: do %q: %w: nil *sql.DB", key, lock.ErrInvalid)
	}
	return callerpool.Do(ctx, db, newShared, key, fn, opts...)
}

// newShared makes the Locker of Do.
func newShared(pool *callerPool) (*lock.Locker, error) {
	return lock.New(pgadvisory.New(&sessions{pool: pool}, pgadvisory.Options{Probe: &pool.Shared}))
}
