package mysqllock

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/runtime/internal/callerpool"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Defaults of the options.
const (
	DefaultHeartbeat = time.Second
	DefaultWaitStep  = 20 * time.Second
)

// A Locker takes locks on the server of one *sql.DB.
type Locker struct {
	*lock.Locker
}

// An Option changes how a Locker works.
type Option func(*settings)

type settings struct {
	heartbeat time.Duration
	waitStep  time.Duration
	fencing   bool
	defaults  []lock.Option
}

// Heartbeat is how long after the last statement of a lock that is held the server is asked whether it
// still is: DefaultHeartbeat unless said. A connection that was killed or closed is noticed within this
// time; a network that is silent within four times it, of which three are spent waiting for the answer,
// but not less than a second.
func Heartbeat(d time.Duration) Option { return func(s *settings) { s.heartbeat = d } }

// WaitStep is how long one GET_LOCK waits at most: DefaultWaitStep unless said, in whole seconds. A longer
// wait is several of them, and loses its place in the server's queue between two. It must be shorter
// than what else ends a statement that takes long: the driver's readTimeout, the server's
// max_statement_time or max_execution_time.
func WaitStep(d time.Duration) Option { return func(s *settings) { s.waitStep = d } }

// Fencing gives every lock a token (lock.Token, Handle.Token) that is larger than those of earlier holders
// of its key. It needs the table of Schema, and two statements more for an acquire. The tokens are as
// durable as what the server commits: a crash with innodb_flush_log_at_trx_commit other than 1, or a
// failover to a replica that lags behind, may give a token again.
func Fencing() Option { return func(s *settings) { s.fencing = true } }

// Defaults are options for all locks of the Locker.
func Defaults(opts ...lock.Option) Option {
	return func(s *settings) { s.defaults = append(s.defaults, opts...) }
}

// standard is what is so unless an option says otherwise.
var standard = settings{heartbeat: DefaultHeartbeat, waitStep: DefaultWaitStep}

var errNoPool = fmt.Errorf("%s: %w: no *sql.DB", name, lock.ErrInvalid)

// New makes a Locker whose locks keep connections of db. It asks nothing of the server. The error wraps
// lock.ErrInvalid.
func New(db *sql.DB, opts ...Option) (*Locker, error) {
	s := standard
	for _, option := range opts {
		option(&s)
	}
	switch {
	case db == nil:
		return nil, errNoPool
	case s.heartbeat <= 0:
		return nil, fmt.Errorf("%s: %w: Heartbeat(%v) is not positive", name, lock.ErrInvalid, s.heartbeat)
	case s.waitStep < time.Second:
		return nil, fmt.Errorf("%s: %w: WaitStep(%v) is less than a second", name, lock.ErrInvalid, s.waitStep)
	}
	locker, err := lock.New(&backend{pool: callerpool.Of[nothing](db), kept: db, settings: s}, s.defaults...)
	if err != nil {
		return nil, err
	}
	return &Locker{locker}, nil
}

// Do runs fn while it holds the lock of key, as Locker.Do does, with a Locker of default options that all
// calls for one db share: callers of this process queue in it, and a call inside another for the same key
// is lock.ErrReentrant.
func Do(ctx context.Context, db *sql.DB, key lock.Key, fn func(context.Context) error, opts ...lock.Option) error {
	if db == nil {
		return errNoPool
	}
	return callerpool.Do(ctx, db, newShared, key, fn, opts...)
}

// newShared makes the Locker of Do.
func newShared(pool *callerPool) (*lock.Locker, error) {
	return lock.New(&backend{pool: pool, settings: standard})
}
