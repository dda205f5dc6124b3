package reliability_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

// processes are killed and stopped.
var (
	processes = map[string]func(*site){
		"the next gets the lock soon when its holder is killed": killedHolder,
		"a waiter that is killed leaves nothing":                killedWaiter,
	}
	processesWithLeases = map[string]func(*site){
		"Guard fails first after a stop beyond the TTL, and a stale token is refused": stoppedLease,
	}
	processesWithSessions = map[string]func(*site){
		"a session's lock is held through a stop":                                 stoppedSession,
		"a session that ends during a stop is lost, and a stale token is refused": endedWhileStopped,
	}
)

// worker starts a process for a new key, and gives the first that it says.
func (s *site) worker(role string) (p *stress.Process, k lock.Key, said string) {
	s.Helper()
	number := fmt.Sprint("worker ", made.Add(1), " of ", s.source)
	p = stress.Start(s, 1, role, s.name, s.source, number)[0]
	return p, lock.NewKey("reliability", number), s.hear(p)
}

func (s *site) hear(p *stress.Process) string {
	s.Helper()
	line, ok := p.Next(s, patience)
	if !ok {
		s.Fatalf("the worker ended: %v", p.Wait(s, patience))
	}
	return line
}

// holder starts a process that holds a new key.
func (s *site) holder() (p *stress.Process, k lock.Key, token int64) {
	s.Helper()
	p, k, said := s.worker("hold")
	token, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return p, k, token
}

func killedHolder(s *site) {
	rival := s.locker(s.source, calm)
	s.within(s.left(), "the next lock after SIGKILL of the holder", func() time.Duration {
		p, k, token := s.holder()
		waiter := start(func() (*lock.Handle, error) { return rival.Acquire(s.ctx(), k) })
		time.Sleep(50 * time.Millisecond)
		killed := time.Now()
		p.Kill()
		o := s.receive(waiter)
		took := time.Since(killed)
		if o.err != nil {
			s.Fatal(o.err)
		}
		if o.h.Token() <= token {
			s.Errorf("token %d after %d", o.h.Token(), token)
		}
		s.release(o.h)
		s.wantFree(k)
		return took
	})
}

func killedWaiter(s *site) {
	rival := s.locker(s.source, calm)
	number := fmt.Sprint("waiter ", made.Add(1), " of ", s.source)
	k := lock.NewKey("reliability", number)
	h := s.acquire(rival, k)
	p := stress.Start(s, 1, "wait", s.name, s.source, number)[0]
	s.hear(p)
	time.Sleep(100 * time.Millisecond) // it waits at the server, or is about to
	p.Kill()
	s.release(h)
	s.Logf("taken after %v", s.taken(s.locker(s.source, calm), k))
	s.wantFree(k)
}

// stop stops the process, and waits until the kernel has (proc(5), /proc/pid/stat; elsewhere than on Linux, for a
// moment).
func (s *site) stop(p *stress.Process) {
	s.Helper()
	if err := p.Stop(); err != nil {
		s.Fatal(err)
	}
	s.eventually("the process is stopped", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
		if errors.Is(err, os.ErrNotExist) {
			time.Sleep(100 * time.Millisecond)
			return true
		}
		var name, state string
		_, _ = fmt.Sscanf(string(text), "%d %s %s", new(int), &name, &state)
		return state == "T"
	})
}

func (s *site) goOn(p *stress.Process) {
	s.Helper()
	if err := p.Continue(); err != nil {
		s.Fatal(err)
	}
}

// overtake takes the lock that a stopped process believes to hold, and writes to the store with its token.
func (s *site) overtake(k lock.Key, token int64) *lock.Handle {
	s.Helper()
	h := s.acquire(s.locker(s.source, calm), k)
	if h.Token() <= token {
		s.Errorf("token %d after %d", h.Token(), token)
	}
	if accepted, err := s.kind.store.put(s.source, h.Token()); !accepted || err != nil {
		s.Errorf("write with the newest token: accepted %v, %v", accepted, err)
	}
	return h
}

// wantOvertaken wants that the process sees the loss before it writes, and that its write is refused.
func (s *site) wantOvertaken(p *stress.Process) {
	s.Helper()
	if line := s.hear(p); !strings.HasPrefix(line, "guard: ") || !strings.Contains(line, lock.ErrLost.Error()) {
		s.Errorf("the holder that was stopped says %q", line)
	}
	if err := p.Tell("store"); err != nil {
		s.Fatal(err)
	}
	if line := s.hear(p); line != "accepted: false, <nil>" {
		s.Errorf("the write with a stale token: %q", line)
	}
}

func stoppedLease(s *site) {
	for range 3 {
		p, k, token := s.holder()
		s.stop(p)
		stopped := time.Now()
		h := s.overtake(k, token)
		// Longer than the lease, or the one who was stopped might not see that it was.
		time.Sleep(time.Until(stopped.Add(quick.ttl + quick.ttl/4)))
		s.goOn(p)
		s.wantOvertaken(p)
		s.release(h)
		s.wantFree(k)
	}
}

// A stop that meets a heartbeat takes its answer for late, so that one of several counts.
func stoppedSession(s *site) {
	rival := s.locker(s.source, calm)
	var said string
	for range 8 {
		p, k, _ := s.holder()
		s.stop(p)
		h, err := rival.Acquire(s.ctx(), k, lock.Wait(quick.heartbeat+quick.timeout+soon))
		s.goOn(p)
		if err := p.Tell("release"); err != nil {
			s.Fatal(err)
		}
		said = s.hear(p)
		s.Logf("after the stop the holder says %q", said)
		if err == nil {
			s.release(h)
		}
		s.taken(rival, k)
		s.wantFree(k)
		if said == "release: <nil>" {
			s.want(err, lock.ErrTimeout) // or both had it
			return
		}
	}
	s.Errorf("after each stop the holder has lost the lock, at last it says %q", said)
}

func endedWhileStopped(s *site) {
	p, k, token := s.holder()
	s.stop(p)
	s.kind.end(s.T, s.source, k)
	h := s.overtake(k, token)
	s.goOn(p)
	s.wantOvertaken(p)
	s.release(h)
	s.wantFree(k)
}
