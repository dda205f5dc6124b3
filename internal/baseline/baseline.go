// Package baseline keeps a list of findings that are known, so that a team can begin with what is new.
//
// An entry says what a finding is about and not where it stands: neither line numbers nor a message, which
// another version of the linter may word otherwise, are in it.
package baseline

import (
	"cmp"
	"fmt"
	"slices"
)

// Version is the version of the file that is written and the highest one that is read.
const Version = 1

// Entry is what one finding, or several that are alike, is known by.
type Entry struct {
	Rule string
	File string // from the baseline's directory, with slashes
	In   string // the function or, outside of any, what is declared; see [In]
	At   string // the call; see [At]
}

func compare(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File), cmp.Compare(a.In, b.In), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.At, b.At),
	)
}

// Known is an entry of a file.
type Known struct {
	Entry
	Count int // how many findings are alike; 1 and up
	Line  int // of the file, 0 in one that was not read
}

// Baseline is what a file holds: each entry once.
type Baseline struct{ Known []Known }

// Of makes a baseline of findings, in order of file, function, rule and call.
func Of(found []Entry) *Baseline {
	counts := map[Entry]int{}
	for _, e := range found {
		counts[e]++
	}
	b := &Baseline{}
	for e, n := range counts {
		b.Known = append(b.Known, Known{Entry: e, Count: n})
	}
	slices.SortFunc(b.Known, func(x, y Known) int { return compare(x.Entry, y.Entry) })
	return b
}

// Split says of each finding whether it is known, and which entries are left over: Count is how many of their
// findings do not occur. Of findings that are alike the first ones are known; which of them was there before
// cannot be told.
func (b *Baseline) Split(found []Entry) (known []bool, left []Known) {
	counts := map[Entry]int{}
	for _, k := range b.Known {
		counts[k.Entry] += k.Count
	}
	for _, e := range found {
		known = append(known, counts[e] > 0)
		counts[e] = max(counts[e]-1, 0)
	}
	for _, k := range b.Known {
		if n := counts[k.Entry]; n > 0 {
			left = append(left, Known{k.Entry, n, k.Line})
		}
	}
	return known, left
}

// String says what the entry is about, in a few words.
func (e Entry) String() string {
	text := e.Rule + " in " + e.File
	if e.In != "" {
		text += ", " + e.In
	}
	if e.At != "" {
		text += fmt.Sprintf(", at %q", e.At)
	}
	return text
}
