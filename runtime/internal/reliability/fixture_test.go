package reliability_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	_ = mysql.SetLogger(silence{}) // its only error is a nil logger
	stress.Main()
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // what runs here waits, and needs no processor for that
	testserver.Main(m)
}

// silence is the log of drivers, which say of each broken connection that it broke.
type silence struct{}

func (silence) Print(...any)                           {}
func (silence) Printf(context.Context, string, ...any) {}

const (
	// patience bounds what must happen and has no bound of its own, on a machine with much else to do.
	patience = 30 * time.Second

	// soon is what a bound may be exceeded by, in one of several tries.
	soon = 700 * time.Millisecond

	// persistence is for how long what a loaded machine delays is tried again.
	persistence = 2 * time.Minute
)

// site is one backend on one server, in one test.
type site struct {
	*testing.T
	backend
	source string // of the server itself, without a proxy
}

// all, leases and sessions choose backends.
func all(backend) bool        { return true }
func leases(b backend) bool   { return b.lease }
func sessions(b backend) bool { return !b.lease }

// each runs tests in parallel for every chosen backend, on servers that others use too.
func each(t *testing.T, chosen func(backend) bool, tests map[string]func(*site)) {
	t.Helper()
	for _, b := range backends {
		if !chosen(b) {
			continue
		}
		for what, test := range tests {
			t.Run(b.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				source := b.kind.shared(t)
				b.kind.prepare(t, source)
				test(&site{t, b, source})
			})
		}
	}
}

var made atomic.Int64

// key is one that no other test of any process has.
func (s *site) key() lock.Key {
	return lock.NewKey("reliability", fmt.Sprint(os.Getpid(), ".", made.Add(1)))
}

// locker makes a Locker that is closed at the test's end, and wants that it and its pool close.
func (s *site) locker(source string, t times) *lock.Locker {
	s.Helper()
	l, end, err := s.open(source, t)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		closed := make(chan error, 1)
		go func() {
			err := l.Close()
			_ = end() // a pool says that connections broke
			closed <- err
		}()
		select {
		case err := <-closed:
			if err != nil && source == s.source { // a fault may outlast the time that Close has
				s.Errorf("close: %v", err)
			}
		case <-time.After(patience):
			s.Errorf("the locker or its pool does not close")
		}
	})
	return l
}

// proxy stands in front of the server. Behind is a source that goes through it.
func (s *site) proxy() (p *faultproxy.Proxy, behind string) {
	s.Helper()
	address := s.source
	if u, err := url.Parse(s.source); err == nil && u.Host != "" {
		address = u.Host
	} else if _, rest, ok := strings.Cut(s.source, "@tcp("); ok {
		address, _, _ = strings.Cut(rest, ")")
	}
	p = faultproxy.New(s, address)
	return p, p.Through(s.source)
}

func (s *site) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	s.Cleanup(cancel)
	return ctx
}

func (s *site) acquire(l *lock.Locker, k lock.Key, opts ...lock.Option) *lock.Handle {
	s.Helper()
	h, err := l.Acquire(s.ctx(), k, opts...)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	return h
}

func (s *site) release(h *lock.Handle) {
	s.Helper()
	if err := h.Release(s.ctx()); err != nil {
		s.Errorf("release: %v", err)
	}
}

// want wants that err wraps one of the targets, or is it.
func (s *site) want(err error, targets ...error) {
	s.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	s.Errorf("error %v, want one that wraps one of %q", err, targets)
}

// outcome is what an acquire beside the test gave.
type outcome struct {
	h   *lock.Handle
	err error
}

// start runs an acquire beside the test.
func start(acquire func() (*lock.Handle, error)) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		h, err := acquire()
		result <- outcome{h, err}
	}()
	return result
}

func (s *site) receive(from <-chan outcome) outcome {
	s.Helper()
	select {
	case o := <-from:
		return o
	case <-time.After(patience + time.Second):
		s.Fatal("the acquire does not end")
		return outcome{}
	}
}

// lost waits until the handle hears that the lock is lost, and gives how long that took.
func (s *site) lost(h *lock.Handle) time.Duration {
	s.Helper()
	start := time.Now()
	select {
	case <-h.Context().Done():
	case <-time.After(patience):
		s.Fatal("the handle does not hear of the loss")
	}
	took := time.Since(start)
	s.want(context.Cause(h.Context()), lock.ErrLost)
	s.want(h.Guard(), lock.ErrLost)
	return took
}

// taken takes the key and lets it go, and gives how long that took.
func (s *site) taken(l *lock.Locker, k lock.Key) time.Duration {
	s.Helper()
	start := time.Now()
	h := s.acquire(l, k)
	took := time.Since(start)
	s.release(h)
	return took
}

// within wants that at least one of several tries takes no longer than a bound.
func (s *site) within(bound time.Duration, what string, try func() time.Duration) {
	s.Helper()
	var all []time.Duration
	for start := time.Now(); len(all) < 5 || time.Since(start) < persistence && !s.Failed(); {
		took := try()
		all = append(all, took.Round(time.Millisecond))
		if took <= bound+soon {
			s.Logf("%s: %v of %v", what, all, bound)
			return
		}
	}
	s.Errorf("%s: %v, want %v", what, all, bound)
}

// eventually waits until true.
func (s *site) eventually(what string, true func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// wantFree wants that the server soon has no grant.
func (s *site) wantFree(k lock.Key) {
	s.Helper()
	s.eventually("no grant at the server", func() bool { return s.kind.grants(s.T, s.source, k) == 0 })
}

// watchGoroutines fails a test that leaves some, when what was registered after it has been cleaned up.
// What collects the servers' processes is not of the test. Its subtests may run in parallel, it may not.
func watchGoroutines(t *testing.T) {
	goroutines.Verify(t,
		goleak.IgnoreAnyFunction("github.com/advisorylint/advisorylint/internal/testserver.start.func1"),
		goleak.IgnoreAnyFunction("github.com/advisorylint/advisorylint/internal/testserver.onSteadyThread.func1.1"),
	)
}
