// Package retrystorm reports acquires that are tried again and again without a proper wait.
package retrystorm

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `retrystorm: report acquires that are tried again at once, or in step

A loop that asks for a taken lock again as soon as it was refused sends as many
commands as the server answers, thousands a second from each waiter, while the
holder's own commands queue behind them. With a fixed wait, waiters that came
together ask together each time.

For example:

	for {
		ok, err := client.SetNX(ctx, key, token, ttl).Result()
		if ok || err != nil {
			return err
		}
	}

Wait between two tries for a time that grows up to a bound and is random below
it, and end with the context:

	case <-time.After(rand.N(bound)):

or let a redislock.Locker wait. A loop over keys, messages or servers is no
retry.

Only the loop without a wait is on by default; asking for the rule by name
adds the fixed wait.`

// Analyzer is the rule retrystorm with both its faults.
var Analyzer = report.Rule{
	Name:    "retrystorm",
	Doc:     doc,
	Holds:   loop(lockflow.Spins | lockflow.InStep),
	Part:    spins,
	Message: message,
}.Analyzer()

// SpinsAnalyzer is the part of the rule that is on by default: loops without any wait. It goes by
// the same name, so a driver has one of the two.
var SpinsAnalyzer = report.Rule{Name: "retrystorm", Doc: doc, Holds: spins, Message: message}.Analyzer()

var spins = loop(lockflow.Spins)

func loop(faults lockflow.Verdict) func(*lockflow.Event) bool {
	return func(e *lockflow.Event) bool { return e.Lease != nil && e.Has(faults) }
}

func message(e *lockflow.Event) string {
	if e.Has(lockflow.Spins) {
		return fmt.Sprintf("%s is tried again without a wait: while the lock is taken, this loop keeps %s as busy as it can; %s",
			report.Command(e), report.System(e), cure(e, "wait between two tries, at random below a bound that grows,"))
	}
	return fmt.Sprintf("%s is tried again after a fixed wait: waiters that came together ask together each time; %s",
		report.Command(e), cure(e, "make the wait random"))
}

// cure adds the lock that waits by itself to what the loop should do.
func cure(e *lockflow.Event, wait string) string {
	if e.Lease.System == "etcd" {
		return wait + " or use Lock, which is told of the release"
	}
	return wait + " or use a redislock.Locker"
}
