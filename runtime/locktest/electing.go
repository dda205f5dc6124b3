package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var once = []behaviour{
	{"RunOnce runs once in its interval, and again after it", func(s *suite) {
		lockers := []*lock.Locker{s.locker(), s.locker(), s.locker()}
		if !s.b.Claims {
			ran, err := lockers[0].RunOnce(s.ctx(), s.key(), time.Hour, func(context.Context) error { return nil })
			if s.want(err, errors.ErrUnsupported); ran {
				s.Error("ran")
			}
			return
		}
		round := func(k lock.Key, every time.Duration) (runs int64) {
			var calls, rans atomic.Int64
			ctx := s.ctx()
			s.want(all(2*len(lockers), func(i int) error {
				ran, err := lockers[i%len(lockers)].RunOnce(ctx, k, every, func(context.Context) error {
					calls.Add(1)
					return nil
				})
				if ran {
					rans.Add(1)
				}
				return err
			}))
			if calls.Load() != rans.Load() {
				s.Errorf("%d calls, and ran is true %d times", calls.Load(), rans.Load())
			}
			return calls.Load()
		}
		// A machine that stalls for longer than the interval is given a longer one.
		for every := time.Second; ; every *= 4 {
			k, start := s.key(), time.Now()
			first, claimed := round(k, every), time.Now()
			second := round(k, every)
			if time.Since(start) > every*3/4 && every < s.b.Patience {
				continue
			}
			if first != 1 || second != 0 {
				s.Errorf("%d runs and then %d, want 1 and 0", first, second)
			}
			time.Sleep(time.Until(claimed.Add(every + every/4)))
			again := time.Now()
			if third := round(k, every); third != 1 && (third == 0 || time.Since(again) < every*3/4) {
				s.Errorf("%d runs after the interval, want 1", third)
			}
			return
		}
	}},
	{"a run that failed counts, and its error is given", func(s *suite) {
		if !s.b.Claims {
			s.Skip("the backend remembers no runs")
		}
		a, b, k := s.locker(), s.locker(), s.key()
		ran, err := a.RunOnce(s.ctx(), k, time.Hour, func(context.Context) error { return errEnough })
		if s.want(err, errEnough); !ran {
			s.Error("ran is false")
		}
		ran, err = b.RunOnce(s.ctx(), k, time.Hour, func(context.Context) error {
			s.Error("ran again")
			return nil
		})
		if s.want(err); ran {
			s.Error("ran is true")
		}
	}},
	{"RunOnce does not run beside a run that is longer than its interval", func(s *suite) {
		if !s.b.Claims {
			s.Skip("the backend remembers no runs")
		}
		a, b, k := s.locker(), s.locker(), s.key()
		const every = 50 * time.Millisecond
		ran, err := a.RunOnce(s.ctx(), k, every, func(ctx context.Context) error {
			time.Sleep(2 * every)
			ran, err := b.RunOnce(s.ctx(), k, every, func(context.Context) error {
				s.Error("two runs at once")
				return nil
			})
			if ran {
				s.Error("ran is true")
			}
			return err
		})
		if s.want(err); !ran {
			s.Error("ran is false")
		}
	}},
}

// campaign is candidates for one key.
type campaign struct {
	leads   chan int // each one that begins to lead
	section inside
	ends    []context.CancelCauseFunc
	results []chan error
	running sync.WaitGroup
}

// campaigns starts a candidate for each locker, each with a context of its own, which leads until its
// context ends.
func campaigns(s *suite, k lock.Key, lockers ...*lock.Locker) *campaign {
	c := &campaign{leads: make(chan int, 100)}
	for i, l := range lockers {
		ctx, end := context.WithCancelCause(s.ctx())
		result := make(chan error, 1)
		c.ends, c.results = append(c.ends, end), append(c.results, result)
		c.running.Go(func() {
			result <- l.Campaign(ctx, k, func(ctx context.Context) error {
				c.section.enter()
				defer c.section.leave()
				c.leads <- i
				<-ctx.Done()
				return nil
			})
		})
	}
	s.Cleanup(c.stop) // before the lockers are closed
	return c
}

// stop ends every campaign. A second time it does nothing.
func (c *campaign) stop() {
	for _, end := range c.ends {
		end(nil)
	}
	c.running.Wait()
}

var electing = []behaviour{
	{"of those who campaign one leads, and the next when its context ends", func(s *suite) {
		k := s.key()
		c := campaigns(s, k, s.locker(), s.locker(), s.locker())
		led := map[int]bool{}
		for range c.ends {
			leader := receive(s, c.leads, "leader")
			if led[leader] {
				s.Fatalf("%d leads after its context ended", leader)
			}
			led[leader] = true
			s.wantGrants(k, 1)
			c.ends[leader](errEnough)
			s.want(receive(s, c.results[leader], "end of a campaign"), errEnough)
		}
		if n := c.section.peak(); n != 1 {
			s.Errorf("%d led at once", n)
		}
	}},
	{"the next leads when the leader's lock is lost, and the leader campaigns on", func(s *suite) {
		k := s.key()
		c := campaigns(s, k, s.locker(), s.locker())
		first := receive(s, c.leads, "leader")
		s.b.Break(s, k)
		next := receive(s, c.leads, "leader after the loss")
		c.ends[next](errEnough)
		s.want(receive(s, c.results[next], "end of a campaign"), errEnough)
		// Whichever it was, the other one is still there.
		if last := receive(s, c.leads, "last leader"); last != 1-next {
			s.Errorf("after %d and %d, %d leads", first, next, last)
		}
		c.stop()
	}},
	{"a leader's error ends its campaign", func(s *suite) {
		a, b, k := s.locker(), s.locker(), s.key()
		s.want(a.Campaign(s.ctx(), k, func(context.Context) error { return errEnough }), errEnough)
		s.wantFreeNow(b, k)
	}},
	{"a leader that returns nil campaigns again", func(s *suite) {
		a, k := s.locker(), s.key()
		ctx, end := context.WithCancelCause(s.ctx())
		terms := 0
		err := a.Campaign(ctx, k, func(context.Context) error {
			if terms++; terms == 2 {
				end(errEnough)
			}
			return nil
		})
		if s.want(err, errEnough); terms != 2 {
			s.Errorf("%d terms, want 2", terms)
		}
	}},
}
