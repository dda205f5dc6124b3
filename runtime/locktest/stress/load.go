package stress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A Load is what one process does to a section.
type Load struct {
	Goroutines int
	For        time.Duration // how long; 0 is until each goroutine has its Rounds
	Rounds     int           // of each goroutine; 0 is no bound
	Hold       time.Duration // inside, at least
}

// Run visits the section from all goroutines through do, which calls what it is given while it holds the
// lock: lock.Locker.Do with a key, or another lock that is to be tested. It gives how many visits there
// were, and the first error.
//
// What do gives when For has passed is no error: its context ends then, and a lock that knows the deadline
// may give up a moment before.
func (l Load) Run(ctx context.Context, s Section, do func(ctx context.Context, fn func(context.Context) error) error) (visits int64, err error) {
	var running sync.WaitGroup
	var count atomic.Int64
	errs := make([]error, l.Goroutines)
	until, cancel := ctx, context.CancelFunc(func() {})
	if l.For > 0 {
		until, cancel = context.WithTimeout(ctx, l.For)
	}
	defer cancel()
	for i := range l.Goroutines {
		running.Go(func() {
			for n := 0; (l.Rounds == 0 || n < l.Rounds) && until.Err() == nil; n++ {
				err := do(until, func(inner context.Context) error {
					token, _ := lock.Token(inner)
					count.Add(1)
					return l.visit(ctx, s, token)
				})
				over := ctx.Err() == nil && (until.Err() != nil || l.For > 0 && errors.Is(err, context.DeadlineExceeded))
				if err != nil && (!over || errors.Is(err, errSection)) {
					errs[i] = err
					return
				}
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return count.Load(), err
		}
	}
	return count.Load(), nil
}

var errSection = errors.New("the record of the section failed")

// visit enters, stays and leaves. The context is not that which ends with the load: a visit that was begun
// is recorded to its end.
func (l Load) visit(ctx context.Context, s Section, token int64) error {
	id, err := s.Enter(ctx, token)
	if err != nil {
		return fmt.Errorf("%w: %w", errSection, err)
	}
	if l.Hold > 0 {
		time.Sleep(l.Hold)
	}
	if err := s.Leave(ctx, id); err != nil {
		return fmt.Errorf("%w: %w", errSection, err)
	}
	return nil
}
