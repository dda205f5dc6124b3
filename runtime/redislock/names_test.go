package redislock

import (
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Two literal names may share a hash tag, and then share neither counter nor marker.
func TestNamesBesideALockDifferFromAllOthers(t *testing.T) {
	all := []lock.Key{
		lock.NewKey("a", "b"), lock.NewKey("a/b"), lock.Int64Key("a", 1), lock.LiteralKey("a"),
		lock.LiteralKey("{a}"), lock.LiteralKey("{a}b"), lock.LiteralKey("{a}:b"), lock.LiteralKey("x{a}b"),
	}
	seen := map[string]lock.Key{}
	for _, key := range all {
		for _, name := range []string{prefix("p:").lock(key), prefix("p:").beside(key, fenceName), prefix("p:").beside(key, markerName)} {
			if other, ok := seen[name]; ok {
				t.Errorf("%q of %q and of %q", name, key, other)
			}
			seen[name] = key
		}
	}
}

func TestLiteralKeysAreTheirNameExactly(t *testing.T) {
	if got := prefix("p:").lock(lock.LiteralKey("jobs:{7}")); got != "jobs:{7}" {
		t.Errorf("%q", got)
	}
}
