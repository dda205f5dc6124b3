package reliability_test

import (
	"context"
	"fmt"
	"time"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// lostReplies loses the reply of the server at every step of an acquire and a release: the request was
// done, and the client does not know. A second after it can connect again nothing is left, or, of a lease,
// at the latest with the TTL.
var lostReplies = map[string]func(*site){
	"lost replies from the first connection on leave nothing":  func(s *site) { s.loseEachReply(false) },
	"lost replies on connections that are there leave nothing": func(s *site) { s.loseEachReply(true) },
	"a grant that is lost on its way to a waiter is not left":  lostGrant,
	"a reply to one who has given up leaves nothing":           func(s *site) { s.loseReplyOfCancelled(0, 30*time.Millisecond, 100*time.Millisecond) },
}

// left is how long what nobody knows of may be left.
func (s *site) left() time.Duration {
	if s.lease {
		return quick.ttl
	}
	return time.Second
}

// mostSteps is more than an acquire and a release have replies, with the making of connections.
const mostSteps = 60

// loseEachReply takes and releases a lock through a proxy that drops the first reply, then the second,
// and so on, until there are no more. Warm says that the locker has connections before.
func (s *site) loseEachReply(warm bool) {
	rival := s.locker(s.source, calm)
	for step := range mostSteps {
		var all bool // replies came
		s.within(s.left(), fmt.Sprintf("what the loss of reply %d leaves", step), func() time.Duration {
			p, behind := s.proxy()
			l, k := s.locker(behind, quick), s.key()
			if warm {
				s.taken(l, s.key())
			}
			p.DropRepliesAfter(step, 1)
			acquired, released := s.cycle(l, k)
			all = p.Dropping() > 0
			p.DropReplies(0)
			if all && (acquired != nil || released != nil) {
				s.Logf("without a loss of a reply: acquire %v, release %v", acquired, released)
				return persistence // a machine that stalls loses a lock, but not each time
			}
			start := time.Now()
			s.taken(rival, k)
			took := time.Since(start)
			s.taken(l, k) // the locker is as good as before
			s.wantFree(k)
			return took
		})
		if s.Failed() {
			s.Logf("at step %d", step)
		}
		if all {
			if step < 2 {
				s.Errorf("an acquire and a release have only %d replies", step)
			}
			return
		}
	}
	s.Errorf("an acquire and a release have more than %d replies", mostSteps)
}

// cycle takes the lock and releases it. Either may fail, but a release says only what it may say.
func (s *site) cycle(l *lock.Locker, k lock.Key) (acquired, released error) {
	s.Helper()
	h, err := l.Acquire(s.ctx(), k, lock.Wait(patience))
	if err != nil {
		return err, nil
	}
	if err = h.Release(s.ctx()); err != nil {
		s.want(err, lock.ErrUnconfirmed, lock.ErrLost)
	}
	return nil, err
}

// lostGrant loses the reply that says that a wait was granted.
func lostGrant(s *site) {
	holder, rival := s.locker(s.source, calm), s.locker(s.source, calm)
	s.within(s.left(), "what the loss of a grant leaves", func() time.Duration {
		p, behind := s.proxy()
		l, k := s.locker(behind, quick), s.key()
		s.taken(l, s.key()) // connects
		h := s.acquire(holder, k)
		waiter := start(func() (*lock.Handle, error) { return l.Acquire(s.ctx(), k) })
		time.Sleep(50 * time.Millisecond)
		p.DropReplies(1)
		s.release(h)
		o := s.receive(waiter)
		p.DropReplies(0)
		if o.err == nil { // asked again and found that it has the lock
			s.want(o.h.Check(s.ctx()), nil)
			s.release(o.h)
		}
		start := time.Now()
		s.taken(rival, k)
		took := time.Since(start)
		s.wantFree(k)
		return took
	})
}

// loseReplyOfCancelled has the caller give up after some time, when the reply is under way, or lost.
func (s *site) loseReplyOfCancelled(times ...time.Duration) {
	rival := s.locker(s.source, calm)
	for name, fault := range map[string]func(*faultproxy.Proxy){
		"a slow reply":      func(p *faultproxy.Proxy) { p.Delay(50 * time.Millisecond) },
		"a lost reply":      func(p *faultproxy.Proxy) { p.DropReplies(1) },
		"many replies lost": func(p *faultproxy.Proxy) { p.DropReplies(20) },
	} {
		for _, after := range times {
			s.within(s.left(), fmt.Sprintf("what a cancel during %s leaves", name), func() time.Duration {
				p, behind := s.proxy()
				l, k := s.locker(behind, quick), s.key()
				s.taken(l, s.key())
				fault(p)
				ctx, cancel := context.WithTimeout(s.Context(), after)
				h, err := l.Acquire(ctx, k, lock.ReleaseTimeout(release))
				cancel()
				if err == nil {
					_ = h.Release(ctx) // its reply may be the one that is lost
				}
				p.Delay(0)
				p.DropReplies(0)
				start := time.Now()
				s.taken(rival, k)
				took := time.Since(start)
				s.wantFree(k)
				return took
			})
		}
	}
}
