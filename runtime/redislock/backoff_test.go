package redislock

import (
	"math"
	"testing"
	"time"
)

func TestBackoffDependsOnTheNumberOfTheTryOnly(t *testing.T) {
	for last, bounds := range map[time.Duration][]time.Duration{
		lastPause: {2, 4, 8, 16, 16, 16},
		lastRetry: {2, 4, 8, 16, 32, 64, 64, 64},
	} {
		for try, bound := range bounds {
			bound *= time.Millisecond
			for _, random := range []float64{0, 0.25, 0.5, math.Nextafter(1, 0)} {
				want := time.Duration(random * float64(bound))
				// Asked out of order and again, it says the same.
				for _, other := range []int{7, 0, try} {
					backoff(other, last, 0.9)
					if got := backoff(try, last, random); got != want {
						t.Errorf("backoff(%d, %v, %v) = %v, want %v", try, last, random, got, want)
					}
				}
			}
		}
		for _, try := range []int{63, 64, 1000, math.MaxInt} {
			if got := backoff(try, last, 0.5); got != last/2 {
				t.Errorf("backoff(%d, %v, 0.5) = %v, want %v", try, last, got, last/2)
			}
		}
	}
}

// Full jitter is even from 0 to the bound: each tenth of it has a tenth of the pauses.
func TestBackoffJitterIsEven(t *testing.T) {
	const n, parts = 100_000, 10
	for _, try := range []int{0, 3, 20} {
		bound := backoff(try, lastPause, math.Nextafter(1, 0)) + 1
		var counts [parts]int
		for range n {
			counts[int(backoff(try, lastPause, jitter())*parts/bound)]++
		}
		for part, count := range counts {
			// Ten standard deviations of 95.
			if count < n/parts-950 || count > n/parts+950 {
				t.Errorf("try %d: %d of %d pauses in part %d of %d", try, count, n, part, parts)
			}
		}
	}
}

func TestMarginIsMoreThanClocksDiffer(t *testing.T) {
	for _, ttl := range []time.Duration{MinTTL, time.Second, 30 * time.Second, time.Hour} {
		if m := margin(ttl); m < ttl/100+time.Millisecond || m > ttl/10 {
			t.Errorf("margin(%v) = %v", ttl, m)
		}
	}
}
