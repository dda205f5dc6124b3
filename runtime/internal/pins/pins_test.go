package pins

import (
	"errors"
	"sync"
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestPinLeavesOneConnectionForWork(t *testing.T) {
	for most, want := range map[int]int{1: 0, 2: 1, 4: 3} {
		pool := new(int)
		for i := range want {
			unpin, err := Pin(pool, most)
			if err != nil {
				t.Fatalf("pin %d of %d: %v", i+1, most, err)
			}
			defer unpin()
		}
		if _, err := Pin(pool, most); !errors.Is(err, lock.ErrPoolExhausted) {
			t.Errorf("pin %d of %d: %v, want ErrPoolExhausted", want+1, most, err)
		}
	}
}

func TestPinWithoutLimitOnlyCounts(t *testing.T) {
	pool := new(int)
	for range 100 {
		unpin, err := Pin(pool, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unpin()
	}
	if _, err := Pin(pool, 101); !errors.Is(err, lock.ErrPoolExhausted) {
		t.Errorf("a limit set later: %v, want ErrPoolExhausted", err)
	}
}

func TestPoolsAreCountedApart(t *testing.T) {
	a, b := new(int), new(int)
	unpin, err := Pin(a, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer unpin()
	other, err := Pin(b, 2)
	if err != nil {
		t.Fatalf("another pool: %v", err)
	}
	other()
}

func TestUnpinGivesBackOnceAndForgetsThePool(t *testing.T) {
	pool := new(int)
	first, err := Pin(pool, 3)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Pin(pool, 3)
	if err != nil {
		t.Fatal(err)
	}
	first()
	first()
	if n := counts.of[pool]; n != 1 {
		t.Errorf("%d pins after one of two was given back twice, want 1", n)
	}
	second()
	if _, ok := counts.of[pool]; ok {
		t.Error("the pool is still known after its last pin")
	}
}

func TestPinFromManyGoroutinesNeverExceeds(t *testing.T) {
	const most = 5
	pool := new(int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 200 {
				unpin, err := Pin(pool, most)
				if err != nil {
					continue
				}
				counts.Lock()
				if n := counts.of[pool]; n >= most {
					t.Errorf("%d pins of %d", n, most)
				}
				counts.Unlock()
				unpin()
			}
		})
	}
	wg.Wait()
	if _, ok := counts.of[pool]; ok {
		t.Error("pins left")
	}
}
