//go:build long

package reliability_test

import (
	"testing"
	"time"
)

// TestLongContention has one backend after the other: the processes of one are enough for the machine.
func TestLongContention(t *testing.T) {
	watchGoroutines(t)
	for _, b := range backends {
		for what, kills := range map[string]int{"200 goroutines in 8 processes never meet": 0, "nor when processes are killed": 3} {
			t.Run(b.name+"/"+what, func(t *testing.T) {
				source := b.kind.shared(t)
				b.kind.prepare(t, source)
				(&site{t, b, source}).contend(8, 200, 20*time.Second, kills)
			})
		}
	}
}
