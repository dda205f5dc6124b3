package pgadvisory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Options says how a Backend keeps its locks. The zero value is what most want.
type Options struct {
	// Heartbeat is how often a session that holds a lock is asked whether it is there, which is what
	// notices a network that is silent; a session that the server ends is noticed at once. 0 is
	// DefaultHeartbeat.
	Heartbeat time.Duration

	// HeartbeatTimeout is how long the answer may take before the lock counts as lost. 0 is
	// DefaultHeartbeatTimeout. Loss by a silent network is noticed within Heartbeat + HeartbeatTimeout.
	HeartbeatTimeout time.Duration

	// PollInterval takes the place of Heartbeat with drivers that can't read from a connection between
	// statements (Session.Park): 0 is DefaultPollInterval.
	PollInterval time.Duration

	// AllowPooler is for a pooler in session mode between the program and the server, which keeps
	// session-level locks but hides the server's process: the process is then known from the lock
	// statement only. A pooler in transaction mode is refused all the same when it shows.
	AllowPooler bool

	// Fencing gives each lock a token of the sequence in Schema.
	Fencing bool

	// Probe remembers, for several Backends over one pool, that there is no pooler; nil for one of the
	// Backend's own.
	Probe *Probe
}

// Defaults of the Options.
const (
	DefaultHeartbeat        = 5 * time.Second
	DefaultHeartbeatTimeout = 5 * time.Second
	DefaultPollInterval     = 50 * time.Millisecond
)

// Check says which time can't be right, with lock.ErrInvalid.
func (o Options) Check() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Heartbeat", o.Heartbeat},
		{"HeartbeatTimeout", o.HeartbeatTimeout},
		{"PollInterval", o.PollInterval},
	} {
		if d.value < 0 {
			return fmt.Errorf("%w: %s(%v) is negative", lock.ErrInvalid, d.name, d.value)
		}
	}
	return nil
}

// A Backend takes session-level advisory locks, each on a session of its own. It is a lock.Backend and
// a lock.Claimer.
type Backend struct {
	sessions Sessions
	opts     Options
	probe    *Probe

	holds   holds
	starter starter
	running sync.WaitGroup // goroutines of holds
}

// New makes a Backend, which closes sessions when it is closed.
func New(sessions Sessions, opts Options) *Backend {
	b := &Backend{sessions: sessions, opts: opts, probe: opts.Probe}
	if b.probe == nil {
		b.probe = new(Probe)
	}
	for _, d := range []struct {
		option   *time.Duration
		standard time.Duration
	}{
		{&b.opts.Heartbeat, DefaultHeartbeat},
		{&b.opts.HeartbeatTimeout, DefaultHeartbeatTimeout},
		{&b.opts.PollInterval, DefaultPollInterval},
	} {
		if *d.option <= 0 {
			*d.option = d.standard
		}
	}
	return b
}

// Name is "postgresql".
func (b *Backend) Name() string { return "postgresql" }

// Acquire takes every key of the request on one session, one statement and one round trip for each.
func (b *Backend) Acquire(ctx context.Context, request lock.Request) (lock.Hold, error) {
	session, err := b.session(ctx, request.Nested)
	if err != nil {
		return nil, Failure(ctx, err)
	}
	a := attempt{backend: b, session: session, request: request, start: time.Now()}
	for _, key := range request.Keys {
		if err := a.lock(ctx, key); err != nil {
			a.undo(ctx, err)
			return nil, err
		}
	}
	return a.held(), nil
}

// session gives a session on which a lock may be taken: never one that a pooler may take away.
func (b *Backend) session(ctx context.Context, nested bool) (Session, error) {
	if b.probe.passed.Load() {
		return b.sessions.Get(ctx, nested)
	}
	leave, err := b.probe.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	session, err := b.sessions.Get(ctx, nested)
	if err != nil || b.probe.passed.Load() {
		return session, err
	}
	if err := b.ask(ctx, session); err != nil {
		session.Destroy()
		return nil, err
	}
	b.probe.passed.Store(true)
	return session, nil
}

// Close waits for what watched the holds, and closes the sessions' source.
func (b *Backend) Close() error {
	b.starter.close()
	b.running.Wait()
	return b.sessions.Close()
}
