package callerpool

import (
	"runtime"
	"testing"
	"time"
)

type somePool struct{ _ [64]byte }

// Two kinds of backends.
type (
	one   struct{ remembered int }
	other struct{}
)

func TestPoolIsKnownByItsPointerAndForgottenWithIt(t *testing.T) {
	a, b := new(somePool), new(somePool)
	of, again, apart := Of[one](a), Of[one](a), Of[one](b)
	if of != again || of == apart {
		t.Error("Of does not tell pools apart by their pointers")
	}
	if of.Value() != a || apart.Value() != b {
		t.Error("Value gives another pool")
	}
	of.Shared.remembered = 1
	Of[other](a)
	if got := Of[one](a).Shared.remembered; got != 1 {
		t.Errorf("what a backend remembers is %d after another backend asked, want 1", got)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	wantForgotten(t)
}

// wantForgotten wants that nothing is known of any pool, once the test has none.
func wantForgotten(t *testing.T) {
	t.Helper()
	known := func() (n int) {
		pools.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	for end := time.Now().Add(10 * time.Second); known() > 0; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(end) {
			t.Fatalf("%d pools are remembered that are gone", known())
		}
	}
}
