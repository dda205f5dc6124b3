// Package crossslot reports locks of several keys on a cluster that lie in different slots.
package crossslot

import (
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `crossslot: report lock commands on a cluster whose keys share no hash tag

A Redis Cluster runs a script or a command only when all of its keys are in one
slot, and keys that differ are in different ones unless a part in braces, the
hash tag, is the same. On one server, in tests for example, the same call works.

For example:

	script.Run(ctx, cluster, []string{"lock:" + id, "fence:" + id}, token)

Put what the keys have in common into braces:

	script.Run(ctx, cluster, []string{"lock:{" + id + "}", "fence:{" + id + "}"}, token)

Not reported: keys of which too little is known, and clients that may be
connected to one server.`

// Analyzer is the rule crossslot.
var Analyzer = report.Rule{
	Name:    "crossslot",
	Doc:     doc,
	Holds:   func(e *lockflow.Event) bool { return e.Lease != nil && e.Has(lockflow.CrossSlot) },
	Message: message,
}.Analyzer()

func message(e *lockflow.Event) string {
	return fmt.Sprintf("the keys of %s share no hash tag: %s refuses it with CROSSSLOT; put the part that they have in common into braces, or use a redislock.Locker, which does",
		e.Lease.Command, cluster(e))
}

func cluster(e *lockflow.Event) string {
	if e.Handle.Name == "" {
		return "a cluster"
	}
	return e.Handle.Name + ", a cluster,"
}
