package lockflow

import (
	"strings"
	"testing"
)

// Declarations of the lock libraries, as far as the programs below use them.
const (
	redsyncStub = `package redsync
import "context"
type Redsync struct{}
type Mutex struct{}
func (*Redsync) NewMutex(name string) *Mutex { return nil }
func (*Mutex) LockContext(context.Context) error { return nil }
func (*Mutex) UnlockContext(context.Context) (bool, error) { return false, nil }
func (*Mutex) ExtendContext(context.Context) (bool, error) { return false, nil }
`
	redislockStub = `package redislock
import ("context"; "errors"; "time")
type Client struct{}
type Lock struct{}
type Options struct{}
var ErrNotObtained = errors.New("not obtained")
func (*Client) Obtain(ctx context.Context, key string, ttl time.Duration, o *Options) (*Lock, error) { return nil, nil }
func (*Lock) Release(context.Context) error { return nil }
`
	etcdStub = `package concurrency
import "context"
type Client struct{}
type Session struct{}
type SessionOption func()
func NewSession(c *Client, opts ...SessionOption) (*Session, error) { return nil, nil }
func WithContext(ctx context.Context) SessionOption { return nil }
func WithTTL(int) SessionOption { return nil }
func (*Session) Done() <-chan struct{} { return nil }
func (*Session) Close() error { return nil }
type Mutex struct{}
func NewMutex(s *Session, pfx string) *Mutex { return nil }
func (*Mutex) Lock(context.Context) error { return nil }
func (*Mutex) Unlock(context.Context) error { return nil }
`
)

// leaseEvents analyses a program that uses the lock libraries.
func leaseEvents(t *testing.T, body string) []*Event {
	t.Helper()
	pr := newProgram()
	pr.load(t, "github.com/go-redsync/redsync/v4", redsyncStub)
	pr.load(t, "github.com/bsm/redislock", redislockStub)
	pr.load(t, "go.etcd.io/etcd/client/v3/concurrency", etcdStub)
	return pr.add(t, "example.com/p", `package p
import (
	"context"
	"errors"
	"sync"
	"time"
	"github.com/bsm/redislock"
	redsync "github.com/go-redsync/redsync/v4"
	"go.etcd.io/etcd/client/v3/concurrency"
)
var (
	_ context.Context
	_ = errors.New
	_ time.Duration
	_ sync.Mutex
	_ *redislock.Lock
	_ *redsync.Mutex
	_ *concurrency.Session
)
`+body)
}

// said is what the events of leases say, each "Command: what", in order.
func said(events []*Event) string {
	var out []string
	for _, e := range events {
		if e.Lease == nil {
			continue
		}
		for _, v := range []struct {
			holds bool
			name  string
		}{
			{e.MayRefuse() && e.Answer == AnswerUnread, "acquire unread"},
			{e.Releases() && e.Answer == AnswerUnread, "release unread"},
			{e.Releases() && e.Cleanup != NoCleanup && e.Context.Kind == Cancellable, "context"},
			{e.Has(ShortSession), "short session"},
			{e.Has(TwinMutex), "twin"},
			{e.Has(Unwatched), "unwatched"},
			{e.Has(NotHeld), "not held"},
			{e.Has(BlindDelete | GetThenDelete | NoExpiry | SharedToken | Unconditional), "a command's verdict"},
		} {
			if v.holds {
				out = append(out, e.Lease.Command+": "+v.name)
			}
		}
	}
	return strings.Join(out, "; ")
}

func TestWhatIsSaidOfLockLibraries(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"redsync, all answers dropped", `func f(ctx context.Context, rs *redsync.Redsync, work func()) {
			m := rs.NewMutex("job")
			m.LockContext(ctx)
			work()
			m.UnlockContext(ctx)
		}`, "LockContext: acquire unread; UnlockContext: release unread"},
		{"redsync, the error read and the boolean not", `func f(ctx context.Context, rs *redsync.Redsync, work func()) error {
			m := rs.NewMutex("job")
			if err := m.LockContext(ctx); err != nil { return err }
			work()
			_, err := m.UnlockContext(ctx)
			return err
		}`, "LockContext: unwatched"},
		{"redsync, extended with the answer read", `func f(ctx context.Context, rs *redsync.Redsync, work func()) error {
			m := rs.NewMutex("job")
			if err := m.LockContext(ctx); err != nil { return err }
			work()
			if ok, err := m.ExtendContext(ctx); !ok { return err }
			work()
			_, err := m.UnlockContext(ctx)
			return err
		}`, ""},
		{"redsync, unlocked though it was refused", `func f(ctx context.Context, rs *redsync.Redsync, work func()) error {
			m := rs.NewMutex("job")
			err := m.LockContext(ctx)
			defer m.UnlockContext(context.WithoutCancel(ctx))
			if err != nil { return err }
			work()
			return nil
		}`, "LockContext: unwatched; UnlockContext: release unread"},
		{"redislock, released with the caller's context", `func f(ctx context.Context, c *redislock.Client, work func()) error {
			l, err := c.Obtain(ctx, "job", time.Minute, nil)
			if errors.Is(err, redislock.ErrNotObtained) { return nil }
			if err != nil { return err }
			defer l.Release(ctx)
			work()
			return nil
		}`, "Release: release unread; Release: context"},
		{"redislock, the error dropped and the handle used", `func f(ctx context.Context, c *redislock.Client, work func()) error {
			l, _ := c.Obtain(ctx, "job", time.Minute, nil)
			work()
			return l.Release(ctx)
		}`, "Obtain: acquire unread"},
		{"redislock, the handle asked instead of the error", `func f(ctx context.Context, c *redislock.Client, work func()) error {
			l, _ := c.Obtain(ctx, "job", time.Minute, nil)
			if l == nil { return nil }
			work()
			return l.Release(ctx)
		}`, ""},
		{"a wrapper whose error is dropped", `func take(ctx context.Context, m *redsync.Mutex) error { return m.LockContext(ctx) }
		func f(ctx context.Context, rs *redsync.Redsync, work func()) {
			m := rs.NewMutex("job")
			take(ctx, m)
			work()
			if ok, err := m.UnlockContext(ctx); !ok { panic(err) }
		}`, "LockContext: unwatched; LockContext: acquire unread"},
		{"a function that locks, works and unlocks, whose error is dropped", `func locked(ctx context.Context, m *redsync.Mutex, work func()) error {
			if err := m.LockContext(ctx); err != nil { return err }
			work()
			_, err := m.UnlockContext(ctx)
			return err
		}
		func f(ctx context.Context, rs *redsync.Redsync, work func()) { locked(ctx, rs.NewMutex("job"), work) }`, "LockContext: unwatched"},
		{"etcd, errors dropped", `func f(ctx context.Context, s *concurrency.Session, work func()) {
			m := concurrency.NewMutex(s, "/job")
			m.Lock(ctx)
			work()
			m.Unlock(ctx)
		}`, ""},
		{"etcd, a session that outlives its context", `func f(ctx context.Context, c *concurrency.Client) (*concurrency.Session, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return concurrency.NewSession(c, concurrency.WithTTL(5), concurrency.WithContext(ctx))
		}`, "NewSession: short session"},
		{"etcd, a helper's session that outlives its caller's context", `func open(ctx context.Context, c *concurrency.Client) (*concurrency.Session, error) {
			return concurrency.NewSession(c, concurrency.WithContext(ctx))
		}
		type T struct{ s *concurrency.Session }
		func f(c *concurrency.Client) (*T, error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s, err := open(ctx, c)
			if err != nil { return nil, err }
			return &T{s}, nil
		}`, "NewSession: short session"},
		{"etcd, the context cancelled only when the session could not be made", `func f(ctx context.Context, c *concurrency.Client) (*concurrency.Session, func(), error) {
			ctx, cancel := context.WithCancel(ctx)
			s, err := concurrency.NewSession(c, concurrency.WithContext(ctx))
			if err != nil {
				cancel()
				return nil, nil, err
			}
			return s, cancel, nil
		}`, ""},
		{"etcd, a session of one function", `func f(ctx context.Context, c *concurrency.Client, work func()) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			s, err := concurrency.NewSession(c, concurrency.WithContext(ctx))
			if err != nil { return err }
			defer s.Close()
			m := concurrency.NewMutex(s, "/job")
			if err := m.Lock(ctx); err != nil { return err }
			go func() { <-s.Done() }()
			work()
			return m.Unlock(ctx)
		}`, ""},
		{"etcd, two mutexes of one key", `func f(s *concurrency.Session, key string) (a, b *concurrency.Mutex) {
			return concurrency.NewMutex(s, key), concurrency.NewMutex(s, key)
		}`, "NewMutex: twin"},
		{"etcd, two keys and two sessions", `func f(s, o *concurrency.Session, key string) (a, b, c *concurrency.Mutex) {
			return concurrency.NewMutex(s, key), concurrency.NewMutex(o, key), concurrency.NewMutex(s, key+"/other")
		}`, ""},
		{"etcd, one mutex after the other", `func f(ctx context.Context, s *concurrency.Session, work func()) error {
			for range 9 {
				m := concurrency.NewMutex(s, "/job")
				if err := m.Lock(ctx); err != nil { continue }
				work()
				if err := m.Unlock(ctx); err != nil { return err }
			}
			return nil
		}`, "Lock: unwatched"},
		{"etcd, methods with a mutex each", `type T struct{ s *concurrency.Session }
		func (t *T) a(ctx context.Context) error { m := concurrency.NewMutex(t.s, "/job"); return m.Lock(ctx) }
		func (t *T) b(ctx context.Context) error { m := concurrency.NewMutex(t.s, "/job"); return m.Lock(ctx) }`,
			"Lock: unwatched; NewMutex: twin; Lock: unwatched"},
		{"etcd, methods with a mutex each that a lock of the process keeps apart", `type T struct{ mu sync.Mutex; s *concurrency.Session }
		func (t *T) a(ctx context.Context) error { t.mu.Lock(); defer t.mu.Unlock(); m := concurrency.NewMutex(t.s, "/job"); return m.Lock(ctx) }
		func (t *T) b(ctx context.Context) error { t.mu.Lock(); defer t.mu.Unlock(); m := concurrency.NewMutex(t.s, "/job"); return m.Lock(ctx) }`,
			"Lock: unwatched; Lock: unwatched"},
		{"through an interface of the program", `type lock interface { Lock(context.Context) error; Unlock(context.Context) error }
		type own struct{ m *redsync.Mutex }
		func (o *own) Lock(ctx context.Context) error { return o.m.LockContext(ctx) }
		func (o *own) Unlock(ctx context.Context) error { _, err := o.m.UnlockContext(ctx); return err }
		func f(ctx context.Context, l lock, work func()) error {
			if err := l.Lock(ctx); err != nil { return err }
			defer l.Unlock(ctx)
			work()
			return nil
		}`, "LockContext: unwatched; UnlockContext: context"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(leaseEvents(t, c.body)); got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// Their own packages are not searched for wrappers: there is nothing to report in them.
func TestLockLibrariesAreClosed(t *testing.T) {
	pr := newProgram()
	if events := pr.add(t, "github.com/bsm/redislock", redislockStub+`
		func (l *Lock) Drop(ctx context.Context) { l.Release(ctx) }`); len(events) != 0 || len(pr.facts.data) != 0 {
		t.Errorf("%d events, %d facts", len(events), len(pr.facts.data))
	}
}
