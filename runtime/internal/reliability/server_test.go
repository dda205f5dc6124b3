package reliability_test

import (
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

var killedServers = map[string]func(*site, *testserver.Server){
	"a lock is lost while its server is down":        lostWhileDown,
	"a lock is lost when its server is back at once": lostWhenBack,
	"a wait ends or goes on when its server is back": waitThroughRestart,
}

// onKilledServers runs tests on servers of their own, since they kill them. Backends of one kind of server
// have one after the other.
func onKilledServers(t *testing.T) {
	for name, k := range map[string]*kind{"postgresql": postgresql, "mariadb": mariadb, "redis": redisServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := k.own(t)
			k.prepare(t, server.URL())
			for _, b := range backends {
				if b.kind != k {
					continue
				}
				for what, test := range killedServers {
					t.Run(b.name+"/"+what, func(t *testing.T) { test(&site{t, b, server.URL()}, server) })
				}
			}
		})
	}
}

func lostWhileDown(s *site, server *testserver.Server) {
	a, b, k := s.locker(s.source, quick), s.locker(s.source, calm), s.key()
	h := s.acquire(a, k)
	server.Kill()
	s.Logf("heard of the loss after %v", s.lost(h))
	if _, err := b.Acquire(s.ctx(), k, lock.Try()); err == nil {
		s.Error("taken on a server that is down")
	}
	server.Restart()
	s.want(h.Release(s.ctx()), lock.ErrLost)
	s.takeAgain(k, h.Token(), a, b)
}

func lostWhenBack(s *site, server *testserver.Server) {
	a, b, k := s.locker(s.source, quick), s.locker(s.source, calm), s.key()
	h := s.acquire(a, k)
	server.Kill()
	server.Restart()
	s.lost(h)
	s.want(h.Release(s.ctx()), lock.ErrLost)
	s.takeAgain(k, h.Token(), a, b)
}

func waitThroughRestart(s *site, server *testserver.Server) {
	a, b, k := s.locker(s.source, quick), s.locker(s.source, calm), s.key()
	h := s.acquire(a, k)
	waiter := start(func() (*lock.Handle, error) { return b.Acquire(s.ctx(), k) })
	time.Sleep(50 * time.Millisecond)
	server.Kill()
	s.lost(h)
	server.Restart()
	s.want(h.Release(s.ctx()), lock.ErrLost)
	o := s.receive(waiter)
	s.Logf("the wait gave %v", o.err)
	if o.err == nil {
		if err := o.h.Check(s.ctx()); err != nil {
			s.Errorf("the lock that was granted: %v", err)
		}
		s.release(o.h)
	}
	s.takeAgain(k, h.Token(), b, a)
}

// takeAgain wants that each locker can take the lock, with a token larger than those before, although
// its pool may have connections that are dead: one that gives each of them out before it makes a new
// one is no defect of the locker's.
func (s *site) takeAgain(k lock.Key, token int64, lockers ...*lock.Locker) {
	s.Helper()
	for _, l := range lockers {
		var h *lock.Handle
		var err error
		s.eventually("the lock can be taken", func() bool {
			h, err = l.Acquire(s.ctx(), k)
			return err == nil
		})
		if h.Token() <= token {
			s.Errorf("token %d after %d", h.Token(), token)
		}
		token = h.Token()
		s.release(h)
	}
	s.wantFree(k)
}
