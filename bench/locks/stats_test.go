package main

import (
	"math"
	"testing"
	"time"
)

func TestJainsIndex(t *testing.T) {
	for name, c := range map[string]struct {
		got  []int
		want float64
	}{
		"alike":            {[]int{7, 7, 7, 7}, 1},
		"one of four":      {[]int{12, 0, 0, 0}, 0.25},
		"half of them":     {[]int{5, 5, 0, 0}, 0.5},
		"uneven":           {[]int{1, 2, 3}, 36.0 / 42},
		"nothing":          {[]int{0, 0}, 0},
		"nobody":           {nil, 0},
		"alone":            {[]int{3}, 1},
		"does not see how": {[]int{100, 200, 300}, 36.0 / 42},
	} {
		if got := jain(c.got); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: jain(%v) = %v, want %v", name, c.got, got, c.want)
		}
	}
}

func TestPercentileIsTheSmallestValueThatEnoughDoNotExceed(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{hundred[:3], 0.5, 2}, {hundred[:4], 0.5, 2}, {hundred[:4], 0.99, 4}, {hundred[:1], 0.99, 1}, {nil, 0.5, 0},
	} {
		if got := percentile(c.sorted, c.p); got != c.want {
			t.Errorf("percentile of %d values, %v: %d, want %d", len(c.sorted), c.p, got, c.want)
		}
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	values := []int{5, 1, 4}
	if got := median(values); got != 4 {
		t.Errorf("median of 5, 1, 4: %d", got)
	}
	if values[0] != 5 || values[2] != 4 {
		t.Errorf("the argument was sorted: %v", values)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median of 1 to 4: %v", got)
	}
	if got := median[time.Duration](nil); got != 0 {
		t.Errorf("median of none: %v", got)
	}
}

func TestEachFigureIsTheMedianOfItsOwnRounds(t *testing.T) {
	got := middle([]Figures{
		{AcquireP50: 1, HandoffP99: 9, Cycles: 10, Fairness: 0.3},
		{AcquireP50: 3, HandoffP99: 8, Cycles: 30, Fairness: 0.1},
		{AcquireP50: 2, HandoffP99: 7, Cycles: 20, Fairness: 0.2},
	})
	if want := (Figures{AcquireP50: 2, HandoffP99: 8, Cycles: 20, Fairness: 0.2}); got != want {
		t.Errorf("middle: %+v, want %+v", got, want)
	}
}
