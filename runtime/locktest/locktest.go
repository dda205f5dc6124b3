// Package locktest holds what every backend of package lock must do, as one suite of tests, and what a
// program's own tests want to know of its locks.
package locktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Backend is what Run needs to know of one backend, on a real server that the test has for itself.
type Backend struct {
	// New makes a Locker on the server. Each call gives one of its own; the suite closes it. What else
	// New makes, such as a pool, ends with tb.
	New func(tb testing.TB, opts ...lock.Option) *lock.Locker

	// Grants is how many grants of key the server has now, of whichever session.
	Grants func(tb testing.TB, key lock.Key) int

	// Break makes the server end the hold on key, as an administrator would: it terminates the
	// session, or deletes the lease.
	Break func(tb testing.TB, key lock.Key)

	// Waiters is how many sessions wait for key at the server now. Nil for a server that can't say.
	Waiters func(tb testing.TB, key lock.Key) int

	// Lost bounds how long after Break the holder hears of it, with TTL as the option that the suite uses.
	Lost time.Duration

	// TTL is what the suite gives as lock.TTL: short, so that the tests are.
	TTL time.Duration

	Shared  bool // has shared locks
	Fencing bool // New's lockers give fencing tokens
	Claims  bool // is a lock.Claimer

	// Patience bounds what must happen and has no bound of its own. 0 is 20 s, so that a loaded machine
	// fails no test.
	Patience time.Duration

	// Goroutines are of the hooks above rather than of lockers, and may start in one test of the suite and
	// go on. With nil there are none: a hook's pool is there before Run, or ends with its tb.
	Goroutines []goleak.Option
}
