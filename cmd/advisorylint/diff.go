package main

import (
	"fmt"
	"strings"
)

// change is a run of lines of the old text, a[oldStart:oldEnd], that the new text's b[newStart:newEnd] replaces.
type change struct{ oldStart, oldEnd, newStart, newEnd int }

// around is how many lines of context a hunk shows.
const around = 3

// unified gives the difference of two texts in the form that patch -p1 and git apply read; "" when
// there is none.
func unified(name string, old, new []byte) string {
	a, b := lines(string(old)), lines(string(new))
	changes := compare(a, b)
	if len(changes) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", name, name)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].oldStart-changes[n-1].oldEnd <= 2*around {
			n++
		}
		writeHunk(&out, a, b, changes[:n])
		changes = changes[n:]
	}
	return out.String()
}

// writeHunk writes changes that share their context.
func writeHunk(out *strings.Builder, a, b []string, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(around, first.oldStart)
	tail := min(around, len(a)-last.oldEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		span(first.oldStart-lead, last.oldEnd+tail), span(first.newStart-lead, last.newEnd+tail))
	at := first.oldStart - lead
	for _, c := range changes {
		writeLines(out, ' ', a[at:c.oldStart])
		writeLines(out, '-', a[c.oldStart:c.oldEnd])
		writeLines(out, '+', b[c.newStart:c.newEnd])
		at = c.oldEnd
	}
	writeLines(out, ' ', a[at:last.oldEnd+tail])
}

func writeLines(out *strings.Builder, mark byte, list []string) {
	for _, line := range list {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span writes the lines from start to end, counted from 0, as a hunk's header counts them: from 1,
// and an empty span by the line before it.
func span(start, end int) string {
	if start == end {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// compare gives the shortest list of changes from a to b, in order, by Myers's greedy algorithm ("An
// O(ND) Difference Algorithm and Its Variations", 1986). Time and memory grow with the number of
// lines that differ, which fixes keep small.
func compare(a, b []string) []change {
	// furthest[d][k+d] is how far into a one gets on diagonal k with d insertions and deletions.
	var furthest [][]int
	for d := 0; ; d++ {
		row := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = step(furthest[d-1], d, k)
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			row[k+d] = x
			if x >= len(a) && x-k >= len(b) {
				return retrace(append(furthest, row), len(a), len(b))
			}
		}
		furthest = append(furthest, row)
	}
}

// step is where on diagonal k the d-th insertion or deletion ends: right from k-1, which deletes a
// line of a, or down from k+1, which inserts one of b.
func step(before []int, d, k int) int {
	at := func(k int) int { return before[k+d-1] }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1)
	}
	return at(k-1) + 1
}

// retrace follows the way back from the end and joins steps that stand side by side.
func retrace(furthest [][]int, x, y int) []change {
	var back []change // from the end to the start
	for d := len(furthest) - 1; d > 0; d-- {
		k := x - y
		before := furthest[d-1]
		at := func(k int) int { return before[k+d-1] }
		c := change{}
		if k == -d || k != d && at(k-1) < at(k+1) {
			x0 := at(k + 1)
			c = change{x0, x0, x0 - (k + 1), x0 - k}
		} else {
			x0 := at(k - 1)
			c = change{x0, x0 + 1, x0 - (k - 1), x0 - (k - 1)}
		}
		x, y = c.oldStart, c.newStart
		if n := len(back); n > 0 && back[n-1].oldStart == c.oldEnd && back[n-1].newStart == c.newEnd {
			back[n-1].oldStart, back[n-1].newStart = c.oldStart, c.newStart
			continue
		}
		back = append(back, c)
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
