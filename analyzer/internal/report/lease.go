package report

import "github.com/advisorylint/advisorylint/analyzer/internal/lockflow"

// Command names the command of a lease and its key, when the key is known: "DEL on s.key".
func Command(e *lockflow.Event) string {
	if e.Lease == nil {
		return "the command"
	}
	if key := Key(e); key != "" {
		return e.Lease.Command + " on " + key
	}
	return e.Lease.Command
}

// System is the server that keeps the lease of e, as its own manual calls it.
func System(e *lockflow.Event) string {
	if e.Lease == nil || e.Lease.System == "" {
		return "the server"
	}
	return e.Lease.System
}

// Later names the command that e's verdict depends on besides e itself: "EXPIRE", "the script".
func Later(e *lockflow.Event) string {
	if e.Other == nil || e.Other.Lease == nil {
		return "another command"
	}
	return e.Other.Lease.Command
}
