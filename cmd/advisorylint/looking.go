package main

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// looking is how far a run has come.
type looking struct {
	all int

	mu    sync.Mutex
	done  int
	since map[*packages.Package]time.Time // those that are looked at
}

// slow is how long a package takes before it is worth being named.
const slow = 2 * time.Second

// listed is that it begins, or begins anew.
func (l *looking) listed(all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all, l.done = all, 0
}

func (l *looking) begin(p *packages.Package) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since[p] = time.Now()
}

func (l *looking) end(p *packages.Package) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, p)
	l.done++
}

// text says how far it is, with the package that takes longest when that is long.
func (l *looking) text(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("looking at locks: %d of %s", l.done, findings.Count(l.all, "package"))
	var longest *packages.Package
	for p, since := range l.since {
		if now.Sub(since) > slow && (longest == nil || since.Before(l.since[longest])) {
			longest = p
		}
	}
	if longest != nil {
		text += ", now at " + longest.ID
	}
	return text
}
