package redislock

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Locker takes locks on the Redis servers of one client. Its methods are those of lock.Locker.
type Locker struct {
	*lock.Locker
}

// An Option changes what New makes.
type Option func(*settings)

type settings struct {
	prefix   prefix
	fencing  bool
	defaults []lock.Option
}

// Fencing makes every lock carry a fencing token (lock.Token): a number that is larger than that of
// every earlier holder. It comes from a counter beside the lock, which stays on the server for as long
// as the server keeps its data: one small key for each name that was ever locked. A counter that the
// server loses starts again from its clock in microseconds, which keeps the tokens growing as long as
// that clock does.
//
// In a cluster, a LiteralKey can't be fenced when its name has a closing brace but no hash tag: no other
// key has its slot by its name, and the server answers CROSSSLOT.
func Fencing() Option { return func(s *settings) { s.fencing = true } }

// KeyPrefix is what the names of the Redis keys begin with, instead of DefaultPrefix, except the locks
// of a LiteralKey. It must not contain a brace.
func KeyPrefix(text string) Option { return func(s *settings) { s.prefix = prefix(text) } }

// Defaults are for all locks of the Locker, unless a call says otherwise.
func Defaults(opts ...lock.Option) Option {
	return func(s *settings) { s.defaults = append(s.defaults, opts...) }
}

// New makes a Locker of a client: of one server, of one behind sentinels, or of a cluster. It sends
// nothing. Close leaves the client open. Errors: lock.ErrInvalid.
func New(client redis.UniversalClient, opts ...Option) (*Locker, error) {
	s := settings{prefix: DefaultPrefix}
	for _, option := range opts {
		option(&s)
	}
	switch {
	case client == nil:
		return nil, fmt.Errorf("redis: %w: no client", lock.ErrInvalid)
	case strings.ContainsAny(string(s.prefix), "{}"):
		return nil, fmt.Errorf("redis: %w: a brace in the key prefix %q", lock.ErrInvalid, s.prefix)
	}
	l, err := lock.New(newBackend(client, s), s.defaults...)
	if err != nil {
		return nil, err
	}
	return &Locker{l}, nil
}
