package callerpool

import (
	"errors"
	"sync"
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestPinLeavesOneConnectionForWork(t *testing.T) {
	for most, want := range map[int]int{1: 0, 2: 1, 4: 3} {
		pool := Of[one](new(somePool))
		for i := range want {
			if _, err := pool.Pin(most); err != nil {
				t.Fatalf("pin %d of %d: %v", i+1, most, err)
			}
		}
		if _, err := pool.Pin(most); !errors.Is(err, lock.ErrPoolExhausted) {
			t.Errorf("pin %d of %d: %v, want ErrPoolExhausted", want+1, most, err)
		}
	}
}

func TestPinWithoutLimitOnlyCounts(t *testing.T) {
	pool := Of[one](new(somePool))
	for _, none := range []int{0, -1} {
		for range 50 {
			if _, err := pool.Pin(none); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := pool.Pin(101); !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("a limit set later: %v, want ErrPoolExhausted", err)
	}
}

func TestPoolsAreCountedApart(t *testing.T) {
	a, b := new(somePool), new(somePool)
	for _, pool := range []*somePool{a, b} {
		if _, err := Of[one](pool).Pin(2); err != nil {
			t.Error(err)
		}
	}
}

func TestUnpinGivesBackOnce(t *testing.T) {
	pool := Of[one](new(somePool))
	var unpins []func()
	for range 3 {
		unpin, err := pool.Pin(4)
		if err != nil {
			t.Fatal(err)
		}
		unpins = append(unpins, unpin)
	}
	unpins[0]()
	unpins[0]()
	unpins[1]()
	if pool.pinned != 1 {
		t.Errorf("%d pins after two of three were given back, one of them twice, want 1", pool.pinned)
	}
}

func TestPinFromManyGoroutinesNeverExceeds(t *testing.T) {
	const most = 5
	pool := Of[one](new(somePool))
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 200 {
				unpin, err := pool.Pin(most)
				if err != nil {
					continue
				}
				pool.mu.Lock()
				if pool.pinned >= most {
					t.Errorf("%d pins of %d", pool.pinned, most)
				}
				pool.mu.Unlock()
				unpin()
			}
		})
	}
	wg.Wait()
	if pool.pinned != 0 {
		t.Errorf("%d pins left", pool.pinned)
	}
}
