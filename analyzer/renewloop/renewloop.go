// Package renewloop reports renewal loops that nothing stops, or that renew too late.
package renewloop

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `renewloop: report renewal loops that nothing stops, or that renew too late

A goroutine that renews a lease and has no end keeps it after its holder has
returned: nobody else gets the lock until the process ends. One that waits for
as long as the lease lasts, or longer, comes when the lock is gone.

For example:

	go func() {
		for range time.Tick(ttl) { // nothing ends it, and ttl is too long
			renew.Run(ctx, client, []string{key}, token, ttl.Milliseconds())
		}
	}()

Wait a third of the TTL, end the goroutine with the work's context or with a
channel that the release closes, and end it when the server says that the
lease is another's. Stop on a ticker does not end a goroutine that ranges over
its channel. Or let a redislock.Locker renew the lease.`

// Analyzer is the rule renewloop.
var Analyzer = report.Rule{
	Name:    "renewloop",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	return e.Lease != nil && e.Has(lockflow.NeverStopped|lockflow.TooSlow)
}

func message(e *lockflow.Event) string {
	if e.Has(lockflow.NeverStopped) {
		return fmt.Sprintf("nothing ends this goroutine, which renews the lock with %s: the lock stays taken after its holder has returned, until the process ends; end it with the work%s",
			report.Command(e), cure(e))
	}
	return fmt.Sprintf("%s renews the lock no sooner than it expires: another holder gets it between two renewals; wait a third of the TTL%s",
		report.Command(e), cure(e))
}

// cure is what the runtime offers, which has no locks in etcd.
func cure(e *lockflow.Event) string {
	if e.Lease.System == "etcd" {
		return ""
	}
	return " or use a redislock.Locker"
}
