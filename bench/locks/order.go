package main

import "time"

// A load is how a subject is used.
type load struct {
	contenders int
	hold       time.Duration // asleep, with the lock
	apart      bool          // each contender has a client of its own, as if in its own process
}

// alone is one contender: what a lock costs when nobody else wants it.
var alone = load{contenders: 1}

// crowds are the loads with contention: every number with every hold, first with one client for all,
// then with one for each.
func crowds(contenders []int, holds []time.Duration) []load {
	var loads []load
	for _, apart := range []bool{false, true} {
		for _, n := range contenders {
			for _, hold := range holds {
				loads = append(loads, load{contenders: n, hold: hold, apart: apart})
			}
		}
	}
	return loads
}

// A turn is one measurement to make.
type turn struct {
	round   int
	load    load
	subject int // its index
}

// interleaved puts the turns of all subjects side by side: in each round and load every subject has one
// turn, and the first is another one each round, so that what the machine does meanwhile, and what the
// one before leaves behind, meets all alike. Pairs that apply refuses are left out.
func interleaved(rounds int, loads []load, subjects int, apply func(load, int) bool) []turn {
	var turns []turn
	for round := range rounds {
		for _, l := range loads {
			for i := range subjects {
				s := (i + round*subjects/max(rounds, 1)) % subjects
				if apply(l, s) {
					turns = append(turns, turn{round: round, load: l, subject: s})
				}
			}
		}
	}
	return turns
}
