package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// timing is how long a run took, package by package. The nil timing notes nothing.
type timing struct {
	start   time.Time
	listing time.Duration

	mu    sync.Mutex
	rules map[*packages.Package]spent
	rows  []row
	known int // packages that were not loaded from source
}

// spent is what analyzers took for a package.
type spent struct {
	time      time.Duration
	functions int // of which they built the SSA form
}

// row is a package that was loaded from source.
type row struct {
	id  string
	all time.Duration
	spent
}

func startTiming() *timing {
	return &timing{start: time.Now(), rules: map[*packages.Package]spent{}}
}

// ran notes what an analyzer took.
func (t *timing) ran(p *packages.Package, took time.Duration, result any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.rules[p]
	s.time += took
	if r, ok := result.(interface{ Built() int }); ok {
		s.functions = r.Built()
	}
	t.rules[p] = s
}

func (t *timing) listed() {
	if t != nil {
		t.listing = time.Since(t.start)
	}
}

func (t *timing) done(p *packages.Package, took time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if took > 0 {
		t.rows = append(t.rows, row{p.ID, took, t.rules[p]})
	} else {
		t.known++
	}
}

// print writes a table of the packages that were loaded from source, those that took most first.
func (t *timing) print(out io.Writer) {
	if t == nil {
		return
	}
	slices.SortFunc(t.rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.all, a.all), cmp.Compare(a.id, b.id)) })
	var sum row
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "loading\tanalysis\tfunctions in SSA\t  package\n")
	line := func(r row) {
		fmt.Fprintf(w, "%s\t%s\t%d\t  %s\n", milliseconds(r.all-r.time), milliseconds(r.time), r.functions, r.id)
	}
	for _, r := range t.rows {
		line(r)
		sum.all, sum.time, sum.functions = sum.all+r.all, sum.time+r.time, sum.functions+r.functions
	}
	sum.id = fmt.Sprintf("in all: %s from source, %d known or not needed; listing took %s, all %s",
		findings.Count(len(t.rows), "package"), t.known, milliseconds(t.listing), milliseconds(time.Since(t.start)))
	line(sum)
	_ = w.Flush() // to standard error
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
