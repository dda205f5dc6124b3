package report

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

func TestWordsOfLeases(t *testing.T) {
	del := &lockflow.Lease{Op: lockflow.LeaseRelease, System: "Redis", Command: "DEL"}
	expire := &lockflow.Event{Lease: &lockflow.Lease{Op: lockflow.LeaseRenew, System: "Redis", Command: "EXPIRE"}}
	for name, test := range map[string]struct {
		e                      *lockflow.Event
		command, system, later string
	}{
		"key known":   {&lockflow.Event{Lease: del, Key: "s.key", Other: expire}, "DEL on s.key", "Redis", "EXPIRE"},
		"key unknown": {&lockflow.Event{Lease: del}, "DEL", "Redis", "another command"},
		"no lease":    {&lockflow.Event{Key: "s.key", Other: &lockflow.Event{}}, "the command", "the server", "another command"},
	} {
		if c, s, l := Command(test.e), System(test.e), Later(test.e); c != test.command || s != test.system || l != test.later {
			t.Errorf("%s: %q, %q, %q", name, c, s, l)
		}
	}
}
