package etcdsession

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func open(t *testing.T) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{testserver.Etcd(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func newSession(t *testing.T, client *clientv3.Client) *concurrency.Session {
	session, err := concurrency.NewSession(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// farm is a way to run a task under its lock.
type farm func(ctx context.Context, task string, run Run) error

// letIn waits, from inside a task, until another session gets the task's lock.
func letIn(t *testing.T, client *clientv3.Client, task string) bool {
	mutex := concurrency.NewMutex(newSession(t, client), "/estate/"+task)
	return proof.Soon(func() bool {
		err := mutex.TryLock(t.Context())
		if err != nil && !errors.Is(err, concurrency.ErrLocked) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Nobody stops the work and nobody frees its lock, and the lease runs out under it.
func TestBadLosesTheLeaseWhileItWorks(t *testing.T) {
	client := open(t)
	for name, run := range map[string]farm{
		"constructor": func(ctx context.Context, task string, run Run) error {
			node, err := Join(ctx, client)
			if err != nil {
				t.Fatal(err)
			}
			return node.Do(ctx, task, run)
		},
		"helper":    func(ctx context.Context, task string, run Run) error { return Locked(ctx, client, task, run) },
		"cancelled": func(ctx context.Context, task string, run Run) error { return CancelledEarly(ctx, client, task, run) },
	} {
		t.Run(name, func(t *testing.T) {
			in := false
			err := run(t.Context(), name, func(ctx context.Context) error {
				in = letIn(t, client, name)
				return ctx.Err() // nothing has told the work
			})
			if !in {
				t.Fatalf("nobody else is let in while the work runs (%v)", err)
			}
		})
	}
}

// until runs a task on a node of its own.
func until(t *testing.T, do func(*Node, context.Context, string, Run) error, join func() (*Node, error)) farm {
	return func(ctx context.Context, task string, run Run) error {
		node, err := join()
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(do(node, ctx, task, run), node.Leave())
	}
}

// Each task outlives a lease of the same TTL that nobody renews. On a machine so busy that a renewal came
// too late, the task is lost as well; such a try says nothing.
func TestGoodKeepsTheLeaseWhileItWorks(t *testing.T) {
	client := open(t)
	for name, run := range map[string]farm{
		"for good": until(t, (*Node).Do, func() (*Node, error) { return JoinForGood(client) }),
		"bounded":  until(t, (*Node).DoInTime, func() (*Node, error) { return JoinBounded(t.Context(), client) }),
		"owner": func(ctx context.Context, task string, run Run) error {
			owner, err := NewOwner(ctx, client)
			if err != nil {
				t.Fatal(err)
			}
			return errors.Join(owner.Do(ctx, task, run), owner.Close())
		},
		"whole": func(ctx context.Context, task string, run Run) error { return Whole(ctx, client, task, run) },
	} {
		t.Run(name, func(t *testing.T) {
			other := concurrency.NewMutex(newSession(t, client), "/estate/"+name)
			kept := proof.Soon(func() (kept bool) {
				err := run(t.Context(), name, func(ctx context.Context) error {
					outlive(t, client)
					err := other.TryLock(ctx)
					kept = errors.Is(err, concurrency.ErrLocked)
					if err == nil {
						err = other.Unlock(ctx)
					}
					if !kept {
						return err
					}
					return nil
				})
				return kept && err == nil
			})
			if !kept {
				t.Fatal("another is let in while the task runs")
			}
			if err := other.TryLock(t.Context()); err != nil {
				t.Fatalf("the task is not free afterwards: %v", err)
			}
		})
	}
}

// outlive waits until a lease that is granted now has run out.
func outlive(t *testing.T, client *clientv3.Client) {
	lease, err := client.Grant(t.Context(), sessionTTL)
	if err != nil {
		t.Fatal(err)
	}
	over := proof.Soon(func() bool {
		left, err := client.TimeToLive(t.Context(), lease.ID)
		if err != nil {
			t.Fatal(err)
		}
		return left.TTL < 0
	})
	if !over {
		t.Fatal("a lease that nobody renews does not run out")
	}
}

// together runs a program of several workers and says how many were under the lock at one time. Each
// worker stays until all the others are there, or until it is clear that they can't be.
func together(t *testing.T, workers int, exclusive bool, program func(run Run) error) int64 {
	var in, most atomic.Int64
	err := program(func(context.Context) error {
		now := in.Add(1)
		defer in.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if !exclusive && !proof.Soon(func() bool { return most.Load() == int64(workers) }) {
			t.Errorf("under the lock at one time = %d, want %d", most.Load(), workers)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return most.Load()
}

func TestBadTwinsAreLockedTogether(t *testing.T) {
	client := open(t)
	ctx := t.Context()
	pair := together(t, 2, false, func(run Run) error { return Twins(ctx, newSession(t, client), "milk", run, run) })
	crowd := together(t, 5, false, func(run Run) error { return Crowd(ctx, newSession(t, client), "hay", 5, run) })
	if pair != 2 || crowd != 5 {
		t.Fatalf("under the lock at one time = %d of 2 and %d of 5, want all", pair, crowd)
	}

	// Each weighs before the other has written, and one change is lost.
	silo := &Silo{session: newSession(t, client), level: 10}
	fill := proof.Start(t, func() error {
		return silo.Fill(ctx, 5, func(ctx context.Context) error {
			// The other's whole change fits in, on a goroutine that asks while this one has the lock.
			return proof.Start(t, func() error { return silo.Draw(ctx, 3, nothing) }).Wait()
		})
	})
	if err := fill.Wait(); err != nil || silo.level != 15 {
		t.Fatalf("level = %d, %v; want 15: what was drawn is forgotten", silo.level, err)
	}
}

func nothing(context.Context) error { return nil }

func TestGoodExcludesEachOther(t *testing.T) {
	client := open(t)
	ctx := t.Context()
	pair := together(t, 2, true, func(run Run) error { return OneEach(ctx, client, "milk", run, run) })
	if pair != 1 {
		t.Fatalf("under the lock at one time = %d, want 1", pair)
	}

	tank := NewTank(newSession(t, client))
	first := make(chan struct{})
	second := proof.Start(t, func() error {
		<-first
		return tank.Change(ctx, -3, nothing)
	})
	err := tank.Change(ctx, 5, func(context.Context) error { close(first); return nil })
	if err := errors.Join(err, second.Wait()); err != nil || tank.level != 2 {
		t.Fatalf("level = %d, %v; want 2", tank.level, err)
	}
	if err := Several(ctx, newSession(t, client), nothing); err != nil {
		t.Fatal(err)
	}
}
