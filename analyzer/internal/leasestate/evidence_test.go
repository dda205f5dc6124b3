package leasestate

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

func TestNamesThatSayLock(t *testing.T) {
	for name, want := range map[string]bool{
		"lock:%s": true, "RECOVERY_LOCK_": true, "TryLock": true, "releaseLock": true, "joblock": true, "DLock": true, "cron:leader": true,
		"billing:mutex:": true, "idlist:x:locker": true, "spin-lock:": true, "unlockTask": true, "node-lease": true,
		"stock:": false, "blocked:": false, "block:": false, "clock:utc": false, "SyncClock": false, "deadlock": false, "flock": false,
		"locked:user": false, "session:": false, "": false, "glockenspiel": false,
	} {
		if got := saysLock(name); got != want {
			t.Errorf("saysLock(%q) = %v", name, got)
		}
	}
}

func TestEvidenceOfALock(t *testing.T) {
	same := map[string]bool{"field p.T.token": true}
	for name, test := range map[string]struct {
		e    evidence
		want bool
	}{
		"a name and a release":                     {evidence{named: true, released: true}, true},
		"a name and a comparison":                  {evidence{named: true, compared: true}, true},
		"a name alone":                             {evidence{named: true, acquired: true}, false},
		"an acquire and a script that compares":    {evidence{acquired: true, scripted: true}, true},
		"the value that was written comes back":    {evidence{acquired: true, compared: true, written: same, against: same}, true},
		"a value that somebody typed is compared":  {evidence{acquired: true, compared: true, released: true, written: same}, false},
		"acquired and released on every path":      {evidence{acquired: true, released: true, paired: true}, true},
		"released on some paths: a mark is undone": {evidence{acquired: true, released: true, paired: true, unpaired: true}, false},
		"overwritten with other values: a record":  {evidence{acquired: true, stored: true, scripted: true}, false},
		"a cache": {evidence{stored: true, released: true}, false},
	} {
		if got := test.e.lock(); got != test.want {
			t.Errorf("%s: lock is %v", name, got)
		}
	}
}

func TestSlotIsWhatAClusterHashes(t *testing.T) {
	hole := term.New(term.Param, "0", "", "string")
	concat := func(parts ...*term.Term) *term.Term { return term.New(term.Concat, "", "", "string", parts...) }
	same := func(a, b *term.Term) bool {
		x, ok := slot(a)
		y, ok2 := slot(b)
		return ok && ok2 && x == y
	}
	for name, test := range map[string]struct {
		a, b *term.Term
		want bool
	}{
		"one constant tag":       {concat(term.Str("{w}:a:"), hole), concat(term.Str("{w}:b:"), hole), true},
		"one variable in braces": {concat(term.Str("a:{"), hole, term.Str("}")), concat(term.Str("b:{"), hole, term.Str("}")), true},
		"no tag":                 {concat(term.Str("a:"), hole), concat(term.Str("b:"), hole), false},
		"an empty tag is none":   {concat(term.Str("{}a:"), hole), concat(term.Str("{}b:"), hole), false},
		"nothing constant":       {hole, hole, false},
	} {
		if got := same(test.a, test.b); got != test.want {
			t.Errorf("%s: same slot is %v", name, got)
		}
	}
}
