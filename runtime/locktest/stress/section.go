// Package stress finds out whether a lock excludes: it runs many goroutines and processes against one
// key, and keeps a record of who was in the critical section, in the same server, by that server's clock.
package stress

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// A Section is a critical section whose visits a server records. Visitors of all processes share it.
type Section interface {
	// Prepare makes the record, once, before anyone enters.
	Prepare(ctx context.Context) error

	// Enter records that someone of this process is inside, with the fencing token of the lock, or 0 without.
	Enter(ctx context.Context, token int64) (visit int64, err error)

	// Leave records that the visitor is not inside any more. It comes before the lock's release.
	Leave(ctx context.Context, visit int64) error

	// Visits are all that were recorded.
	Visits(ctx context.Context) ([]Visit, error)
}

// A Visit is one stay in a Section, by the server's clock.
type Visit struct {
	ID      int64
	Process int       // that entered, by its number
	Token   int64     // 0 without fencing
	Entered time.Time // when the server heard of it
	Left    time.Time // zero when it did not: the visitor is inside, or died there
}

// A Report says what the visits of a Section show.
type Report struct {
	Visits int
	Open   int           // that were not left, or were the last of a dead process: not counted in what follows
	Most   int           // inside at once
	Both   time.Duration // during which more than one was inside
	Stale  int           // visits with a token that is not larger than every one before
}

// Judge makes a report of visits. Of processes that were killed, which are given, the last visit may say
// what is not so: its requests were under way, and reached the server when the lock was another's.
func Judge(visits []Visit, killed ...int) Report {
	type step struct {
		at     time.Time
		inside int
	}
	r := Report{Visits: len(visits)}
	visits = slices.SortedFunc(slices.Values(visits), func(a, b Visit) int {
		return cmp.Or(a.Entered.Compare(b.Entered), cmp.Compare(a.ID, b.ID))
	})
	lastOf := map[int]int{} // process to index
	for i, v := range visits {
		lastOf[v.Process] = i
	}
	var steps []step
	var last int64
	for i, v := range visits {
		if lastOf[v.Process] == i && slices.Contains(killed, v.Process) {
			r.Open++
			continue
		}
		if v.Token != 0 && v.Token <= last {
			r.Stale++
		}
		last = max(last, v.Token)
		if v.Left.IsZero() {
			r.Open++
			continue
		}
		steps = append(steps, step{v.Entered, +1}, step{v.Left, -1})
	}
	// Who leaves at the moment in which another enters was not inside with it.
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.inside, b.inside))
	})
	inside := 0
	for i, s := range steps {
		if inside > 1 {
			r.Both += s.at.Sub(steps[i-1].at)
		}
		inside += s.inside
		r.Most = max(r.Most, inside)
	}
	return r
}

// Err is nil when no two were inside at once, and every token was larger than those before.
func (r Report) Err() error {
	if r.Most <= 1 && r.Stale == 0 {
		return nil
	}
	return fmt.Errorf("%d visits: %d inside at once, more than one during %.6f s, %d with a stale token",
		r.Visits, r.Most, r.Both.Seconds(), r.Stale)
}

// Inspect judges the visits that a section has recorded.
func Inspect(ctx context.Context, s Section, killed ...int) (Report, error) {
	visits, err := s.Visits(ctx)
	if err != nil {
		return Report{}, err
	}
	return Judge(visits, killed...), nil
}
