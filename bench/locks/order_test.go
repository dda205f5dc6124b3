package main

import (
	"slices"
	"testing"
	"time"
)

func TestEverySubjectHasOneTurnInEachRoundAndLoad(t *testing.T) {
	loads := append([]load{alone}, crowds([]int{16, 64}, []time.Duration{0, time.Millisecond})...)
	if len(loads) != 9 {
		t.Fatalf("%d loads", len(loads))
	}
	const rounds, subjects = 3, 5
	turns := interleaved(rounds, loads, subjects, func(load, int) bool { return true })
	if len(turns) != rounds*len(loads)*subjects {
		t.Fatalf("%d turns", len(turns))
	}
	seen := map[turn]bool{}
	for _, turn := range turns {
		if seen[turn] {
			t.Errorf("twice: %+v", turn)
		}
		seen[turn] = true
	}
	// Side by side: the subjects of a round and load follow each other.
	for group := range slices.Chunk(turns, subjects) {
		for _, turn := range group {
			if turn.load != group[0].load || turn.round != group[0].round {
				t.Errorf("%+v is among those of %+v", turn, group[0])
			}
		}
	}
}

func TestAnotherSubjectIsFirstInEachRound(t *testing.T) {
	turns := interleaved(3, []load{alone}, 6, func(load, int) bool { return true })
	var first []int
	for group := range slices.Chunk(turns, 6) {
		first = append(first, group[0].subject)
	}
	if want := []int{0, 2, 4}; !slices.Equal(first, want) {
		t.Errorf("first of the rounds: %v, want %v", first, want)
	}
}

func TestTurnsThatDoNotApplyAreLeftOut(t *testing.T) {
	crowd := load{contenders: 16}
	turns := interleaved(2, []load{alone, crowd}, 2, func(l load, subject int) bool { return subject == 1 || l == alone })
	if len(turns) != 6 {
		t.Errorf("%d turns: %+v", len(turns), turns)
	}
	for _, turn := range turns {
		if turn.load == crowd && turn.subject == 0 {
			t.Errorf("a turn that does not apply: %+v", turn)
		}
	}
}
