// Package etcdsession runs the tasks of a farm, each on one node. Nodes agree by etcd.
package etcdsession

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

const (
	sessionTTL  = 2 // seconds
	dialTimeout = time.Second
)

// Run is the work under the lock.
type Run func(ctx context.Context) error

// Node is a member of the farm. Its session is meant to live as long as it does.
type Node struct {
	client  *clientv3.Client
	session *concurrency.Session
}

// Join bounds the making of the session, and with it the session.
func Join(ctx context.Context, client *clientv3.Client) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL), concurrency.WithContext(ctx)) // want `session's context ends`
	if err != nil {
		return nil, err
	}
	return &Node{client: client, session: session}, nil
}

// Leave gives up everything that the node has.
func (n *Node) Leave() error { return n.session.Close() }

// Do runs a task under its lock.
func (n *Node) Do(ctx context.Context, task string, run Run) error {
	mutex := concurrency.NewMutex(n.session, "/estate/"+task)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	return errors.Join(run(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}

// lockTask returns the lock and the function that ends it.
func lockTask(ctx context.Context, client *clientv3.Client, task string) (unlock func(context.Context) error, err error) {
	setup, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := concurrency.NewSession(client, concurrency.WithContext(setup), concurrency.WithTTL(sessionTTL)) // want `session's context ends`
	if err != nil {
		return nil, err
	}
	mutex := concurrency.NewMutex(session, "/estate/"+task)
	if err := mutex.Lock(setup); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return func(ctx context.Context) error { return errors.Join(mutex.Unlock(ctx), session.Close()) }, nil
}

// Locked runs a task under the lock that lockTask gives.
func Locked(ctx context.Context, client *clientv3.Client, task string, run Run) error {
	unlock, err := lockTask(ctx, client, task)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx), unlock(context.WithoutCancel(ctx)))
}

// CancelledEarly thinks that the context is not used any more once the session is there.
func CancelledEarly(ctx context.Context, client *clientv3.Client, task string, run Run) (err error) {
	grantCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	session, err := concurrency.NewSession(client, concurrency.WithContext(grantCtx), concurrency.WithTTL(sessionTTL)) // want `session's context ends`
	cancel()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	mutex := concurrency.NewMutex(session, "/estate/"+task)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	return errors.Join(run(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}

// Twins has two mutexes of one prefix on one session, one for each of two goroutines.
func Twins(ctx context.Context, session *concurrency.Session, task string, first, second Run) error {
	mine := concurrency.NewMutex(session, "/estate/"+task)
	yours := concurrency.NewMutex(session, "/estate/"+task) // want `second mutex of the same prefix`
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return under(ctx, mine, first) })
	group.Go(func() error { return under(ctx, yours, second) })
	return group.Wait()
}

func under(ctx context.Context, mutex *concurrency.Mutex, run Run) error {
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	return errors.Join(run(ctx), mutex.Unlock(context.WithoutCancel(ctx)))
}

// Silo is a store that one node at a time may change.
type Silo struct {
	session *concurrency.Session
	level   int
}

const siloLock = "/estate/silo"

// Fill changes the level under a mutex of its own.
func (s *Silo) Fill(ctx context.Context, tons int, weigh Run) error {
	mutex := concurrency.NewMutex(s.session, siloLock)
	return under(ctx, mutex, func(ctx context.Context) error {
		level := s.level
		if err := weigh(ctx); err != nil {
			return err
		}
		s.level = level + tons
		return nil
	})
}

// Draw changes the level under another mutex of the same prefix.
func (s *Silo) Draw(ctx context.Context, tons int, weigh Run) error {
	mutex := concurrency.NewMutex(s.session, siloLock) // want `second mutex of the same prefix`
	return under(ctx, mutex, func(ctx context.Context) error {
		level := s.level
		if err := weigh(ctx); err != nil {
			return err
		}
		s.level = level - tons
		return nil
	})
}

// Crowd starts workers that make a mutex each.
func Crowd(ctx context.Context, session *concurrency.Session, task string, workers int, run Run) error {
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		mutex := concurrency.NewMutex(session, "/estate/"+task) // want `second mutex of the same prefix`
		group.Go(func() error { return under(ctx, mutex, run) })
	}
	return group.Wait()
}
