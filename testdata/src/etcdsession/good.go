package etcdsession

import (
	"context"
	"errors"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

// JoinForGood leaves the session to the client's context.
func JoinForGood(client *clientv3.Client) (*Node, error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
	if err != nil {
		return nil, err
	}
	return &Node{client: client, session: session}, nil
}

// JoinBounded bounds the grant of the lease and not the session that keeps it.
func JoinBounded(ctx context.Context, client *clientv3.Client) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	lease, err := client.Grant(ctx, sessionTTL)
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID), concurrency.WithTTL(sessionTTL))
	if err != nil {
		return nil, err
	}
	return &Node{client: client, session: session}, nil
}

// DoInTime bounds the wait for the lock.
func (n *Node) DoInTime(ctx context.Context, task string, run Run) error {
	mutex := concurrency.NewMutex(n.session, "/estate/"+task)
	wait, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := mutex.Lock(wait); err != nil {
		return err
	}
	return errors.Join(run(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}

// Owner has a session with a context that its Close cancels, after the session is closed.
type Owner struct {
	session *concurrency.Session
	cancel  context.CancelFunc
}

// NewOwner makes the two together.
func NewOwner(ctx context.Context, client *clientv3.Client) (*Owner, error) {
	ctx, cancel := context.WithCancel(ctx)
	session, err := concurrency.NewSession(client, concurrency.WithContext(ctx), concurrency.WithTTL(sessionTTL))
	if err != nil {
		cancel()
		return nil, err
	}
	return &Owner{session: session, cancel: cancel}, nil
}

// Do runs a task under its lock.
func (o *Owner) Do(ctx context.Context, task string, run Run) error {
	return under(ctx, concurrency.NewMutex(o.session, "/estate/"+task), run)
}

// Close ends both.
func (o *Owner) Close() error {
	defer o.cancel()
	return o.session.Close()
}

// Whole has a session whose context lives as long as all that it is for.
func Whole(ctx context.Context, client *clientv3.Client, task string, run Run) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := concurrency.NewSession(client, concurrency.WithContext(ctx), concurrency.WithTTL(sessionTTL))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return under(ctx, concurrency.NewMutex(session, "/estate/"+task), run)
}

// OneEach gives each of two goroutines a session.
func OneEach(ctx context.Context, client *clientv3.Client, task string, first, second Run) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []Run{first, second} {
		group.Go(func() (err error) {
			session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, session.Close()) }()
			return under(ctx, concurrency.NewMutex(session, "/estate/"+task), run)
		})
	}
	return group.Wait()
}

// Several has one session and a mutex for each of two things.
func Several(ctx context.Context, session *concurrency.Session, run Run) error {
	barn := concurrency.NewMutex(session, "/estate/barn")
	yard := concurrency.NewMutex(session, "/estate/yard")
	return under(ctx, barn, func(ctx context.Context) error { return under(ctx, yard, run) })
}

// Tank has one mutex, and keeps its own goroutines apart by itself.
type Tank struct {
	local sync.Mutex
	mutex *concurrency.Mutex
	level int
}

// NewTank makes the one mutex.
func NewTank(session *concurrency.Session) *Tank {
	return &Tank{mutex: concurrency.NewMutex(session, "/estate/tank")}
}

// Change changes the level. In the process the sync.Mutex keeps goroutines apart.
func (t *Tank) Change(ctx context.Context, tons int, weigh Run) error {
	t.local.Lock()
	defer t.local.Unlock()
	return under(ctx, t.mutex, func(ctx context.Context) error {
		level := t.level
		if err := weigh(ctx); err != nil {
			return err
		}
		t.level = level + tons
		return nil
	})
}
