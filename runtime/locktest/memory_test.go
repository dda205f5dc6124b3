package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// defect is what a memory server does wrong, or nothing.
type defect string

const (
	grantsTwice   defect = "grants twice"
	losesSilently defect = "never reports a loss"
	keepsCanceled defect = "leaves the grant after a cancel"
	keepsReleased defect = "releases nothing"
	keepsPart     defect = "leaves the first of several keys"
	followsCtx    defect = "ends the lock with the acquire's context"
	waitsOn       defect = "does not know how long to wait"
	neverWaits    defect = "gives up at once"
	repeatsTokens defect = "gives the same token again"
	claimsAlways  defect = "forgets what was claimed"
	claimsNever   defect = "remembers claims for ever"
	sharesAlways  defect = "takes every lock for shared"
	leaksOne      defect = "leaves a goroutine"
	waitsTwice    defect = "counts every waiter twice"
	releasesLate  defect = "releases a moment after it said so"
	checksNothing defect = "does not ask the server in a check"
)

// memory is a lock server in this process.
type memory struct {
	defect defect

	mu      sync.Mutex
	holds   map[*memoryHold]struct{}
	waiters map[lock.Key]int
	tokens  map[lock.Key]int64
	claims  map[lock.Key]time.Time
	changed chan struct{} // closed when a hold ends
}

func newMemory(d defect) *memory {
	return &memory{
		defect: d, holds: map[*memoryHold]struct{}{}, waiters: map[lock.Key]int{},
		tokens: map[lock.Key]int64{}, claims: map[lock.Key]time.Time{}, changed: make(chan struct{}),
	}
}

// backend is what the suite needs to know of m.
func (m *memory) backend() Backend {
	return Backend{
		New: func(tb testing.TB, opts ...lock.Option) *lock.Locker {
			l, err := lock.New(&memoryBackend{m}, opts...)
			if err != nil {
				tb.Fatal(err)
			}
			return l
		},
		Grants:  m.grants,
		Break:   m.end,
		Waiters: m.waiting,
		Lost:    50 * time.Millisecond,
		TTL:     100 * time.Millisecond,
		Shared:  true, Fencing: true, Claims: true,
	}
}

func (m *memory) grants(_ testing.TB, k lock.Key) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h := range m.holds {
		if slices.Contains(h.keys, k) {
			n++
		}
	}
	return n
}

func (m *memory) waiting(_ testing.TB, k lock.Key) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.defect == waitsTwice {
		return 2 * m.waiters[k]
	}
	return m.waiters[k]
}

// end ends the holds on k, as an administrator.
func (m *memory) end(_ testing.TB, k lock.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h := range m.holds {
		if slices.Contains(h.keys, k) {
			m.drop(h)
			go func() {
				switch m.defect {
				case losesSilently:
					return
				case checksNothing: // or the check would not be what hears of it
					<-h.checked
				}
				h.lost(errors.New("ended by an administrator"))
			}()
		}
	}
}

// drop ends a hold. The mutex is held.
func (m *memory) drop(h *memoryHold) {
	delete(m.holds, h)
	close(m.changed)
	m.changed = make(chan struct{})
}

// grant gives all keys of the request, or nil when one of them is busy. The mutex is held.
func (m *memory) grant(r lock.Request) *memoryHold {
	for h := range m.holds {
		busy := slices.ContainsFunc(r.Keys, func(k lock.Key) bool { return slices.Contains(h.keys, k) })
		if busy && !(h.shared && r.Shared) && m.defect != grantsTwice {
			return nil
		}
	}
	h := &memoryHold{server: m, keys: r.Keys, shared: r.Shared || m.defect == sharesAlways, lost: r.Lost, checked: make(chan struct{})}
	for _, k := range r.Keys {
		if m.defect != repeatsTokens || m.tokens[k] == 0 {
			m.tokens[k]++
		}
		h.tokens = append(h.tokens, m.tokens[k])
	}
	m.holds[h] = struct{}{}
	return h
}

type memoryBackend struct{ server *memory }

func (b *memoryBackend) Name() string { return "memory" }

func (b *memoryBackend) Close() error {
	if b.server.defect == leaksOne {
		go func() { time.Sleep(time.Minute) }()
	}
	return nil
}

func (b *memoryBackend) Acquire(ctx context.Context, r lock.Request) (lock.Hold, error) {
	m := b.server
	var timeout <-chan time.Time
	if r.Wait > 0 && m.defect != waitsOn {
		timer := time.NewTimer(r.Wait)
		defer timer.Stop()
		timeout = timer.C
	}
	if err := context.Cause(ctx); err != nil {
		return nil, m.failed(r, err)
	}
	for {
		m.mu.Lock()
		hold, changed := m.grant(r), m.changed
		if hold == nil {
			m.wait(r, +1)
		}
		m.mu.Unlock()
		switch {
		case hold != nil:
			if m.defect == followsCtx {
				context.AfterFunc(ctx, func() { hold.Release(context.Background()) })
			}
			return hold, nil
		case r.Wait == 0 || m.defect == neverWaits:
			return nil, m.leave(r, lock.ErrNotAcquired)
		}
		select {
		case <-changed:
			m.leave(r, nil)
		case <-timeout:
			return nil, m.leave(r, lock.ErrTimeout)
		case <-ctx.Done():
			return nil, m.leave(r, m.failed(r, context.Cause(ctx)))
		}
	}
}

// wait counts the one who asks as waiting, or not any more. The mutex is held.
func (m *memory) wait(r lock.Request, n int) {
	for _, k := range r.Keys {
		m.waiters[k] += n
	}
}

// leave is the end of a wait. A server with a defect keeps what it should not.
func (m *memory) leave(r lock.Request, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wait(r, -1)
	if err != nil && m.defect == keepsPart && len(r.Keys) > 1 {
		r.Keys = r.Keys[:1]
		m.grant(r)
	}
	return err
}

// failed is the error of an acquire whose context ended. The defect is that the server goes on waiting for
// one who has gone.
func (m *memory) failed(r lock.Request, cause error) error {
	if m.defect == keepsCanceled {
		r.Lost = func(error) {}
		go func() {
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				m.mu.Lock()
				hold := m.grant(r)
				m.mu.Unlock()
				if hold != nil {
					return
				}
			}
		}()
	}
	return fmt.Errorf("memory: %w", cause)
}

// Claim remembers when a key was claimed.
func (b *memoryBackend) Claim(_ context.Context, key lock.Key, every time.Duration) (bool, error) {
	m := b.server
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.claims[key]
	if known && m.defect != claimsAlways && (time.Since(last) < every || m.defect == claimsNever) {
		return false, nil
	}
	m.claims[key] = time.Now()
	return true, nil
}

type memoryHold struct {
	server *memory
	keys   []lock.Key
	shared bool
	tokens []int64
	lost   func(error)

	checked chan struct{} // closed by the first check
	once    sync.Once
}

func (h *memoryHold) Tokens() []int64     { return h.tokens }
func (h *memoryHold) Deadline() time.Time { return time.Time{} }

func (h *memoryHold) Check(context.Context) error {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	defer h.once.Do(func() { close(h.checked) })
	if _, held := h.server.holds[h]; !held && h.server.defect != checksNothing {
		return fmt.Errorf("memory: %w", lock.ErrLost)
	}
	return nil
}

func (h *memoryHold) Release(context.Context) error {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	if _, held := h.server.holds[h]; !held {
		return lock.ErrNotHeld
	}
	switch h.server.defect {
	case keepsReleased:
	case releasesLate:
		go func() {
			time.Sleep(200 * time.Millisecond) // no machine is so busy each time
			h.server.mu.Lock()
			defer h.server.mu.Unlock()
			h.server.drop(h)
		}()
	default:
		h.server.drop(h)
	}
	return nil
}
