package main

import (
	"slices"
	"time"
)

// percentile is the smallest of the sorted values that at least p of them (0 to 1) do not exceed; 0
// when there is none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	n := int(p * float64(len(sorted)))
	if float64(n) == p*float64(len(sorted)) {
		n--
	}
	return sorted[min(max(n, 0), len(sorted)-1)]
}

// jain is Jain's fairness index of what each contender got: 1 when all got the same, 1/n when one of n
// got everything, 0 when nobody got anything (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984).
func jain(got []int) float64 {
	var sum, squares float64
	for _, g := range got {
		sum += float64(g)
		squares += float64(g) * float64(g)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(got)) * squares)
}

// number is what a median can be taken of.
type number interface {
	~int | ~int64 | ~float64
}

// median is the middle value, the mean of the two when there are two; 0 of none.
func median[N number](values []N) N {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// medianOf is the median over rounds of one figure of each round.
func medianOf[R any, N number](rounds []R, figure func(R) N) N {
	values := make([]N, len(rounds))
	for i, r := range rounds {
		values[i] = figure(r)
	}
	return median(values)
}
