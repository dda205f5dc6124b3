// Package goroutines is for tests that want to leave no goroutine behind, on a machine however loaded.
package goroutines

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines are given to end: longer than the 15 s for which pgx, when it has given up a
// connection, goes on to read from it. Goleak itself waits for half a second.
const patience = 30 * time.Second

// OfOpenPgx ignores what pgx runs for as long as a connection is open, on a machine so slow that a write to it once
// took more than 15 ms: one that waits in a read, of which the next who reads gets what it has read.
func OfOpenPgx() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead")
}

// Verify fails the test when it leaves a goroutine that was not there before, once everything that is
// registered with Cleanup later has been done. Ignore is what may be left.
func Verify(tb testing.TB, ignore ...goleak.Option) {
	running := append([]goleak.Option{goleak.IgnoreCurrent()}, ignore...)
	tb.Cleanup(func() {
		tb.Helper()
		WantGone(tb, patience, running...)
	})
}

// WantGone fails the test when, after some time, goroutines run that the options do not ignore.
func WantGone(tb testing.TB, within time.Duration, options ...goleak.Option) {
	tb.Helper()
	for end := time.Now().Add(within); ; {
		err := goleak.Find(options...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			tb.Error(err)
			return
		}
	}
}
