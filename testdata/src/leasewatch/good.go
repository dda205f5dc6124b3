package leasewatch

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// EtcdWatched cancels the work when the session is done for.
func EtcdWatched(ctx context.Context, client *clientv3.Client, month string, bills int, print Print) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	mutex := concurrency.NewMutex(session, "/bills/"+month)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mutex.Unlock(context.WithoutCancel(ctx))) }()
	workCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-session.Done():
			cancel(errLost)
		case <-workCtx.Done():
		}
	}()
	return printAll(workCtx, bills, print)
}

// MonthInStep looks at the session before each bill.
func (p *Printer) MonthInStep(ctx context.Context, month string, bills int, print Print) error {
	mutex := concurrency.NewMutex(p.session, "/bills/"+month)
	if err := mutex.TryLock(ctx); err != nil {
		return err
	}
	printErr := printAll(ctx, bills, func(ctx context.Context, bill int) error {
		select {
		case <-p.session.Done():
			return errLost
		default:
			return print(ctx, bill)
		}
	})
	return errors.Join(printErr, mutex.Unlock(context.WithoutCancel(ctx)))
}

// MonthInSession works with the session's own context.
func (p *Printer) MonthInSession(ctx context.Context, month string, bills int, print Print) error {
	mutex := concurrency.NewMutex(p.session, "/bills/"+month)
	if err := mutex.TryLock(ctx); err != nil {
		return err
	}
	printErr := printAll(p.session.Ctx(), bills, print)
	return errors.Join(printErr, mutex.Unlock(context.WithoutCancel(ctx)))
}

// Claim hands the mutex and its session to its caller, who may watch.
func Claim(ctx context.Context, client *clientv3.Client, month string) (*concurrency.Session, *concurrency.Mutex, error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
	if err != nil {
		return nil, nil, err
	}
	mutex := concurrency.NewMutex(session, "/bills/"+month)
	if err := mutex.Lock(ctx); err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, mutex, nil
}

// RedsyncUntil prints no bill after the lease's end.
func RedsyncUntil(ctx context.Context, rs *redsync.Redsync, month string, bills int, print Print) (err error) {
	mutex := rs.NewMutex("bills:lock:"+month, redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer func() {
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	return printAll(ctx, bills, func(ctx context.Context, bill int) error {
		if time.Now().After(mutex.Until()) {
			return errLost
		}
		return print(ctx, bill)
	})
}

// RedsyncExtended ends the work when the lock can't be extended.
func RedsyncExtended(ctx context.Context, rs *redsync.Redsync, month string, bills int, print Print) (err error) {
	mutex := rs.NewMutex("bills:lock:"+month, redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	workCtx, cancel := context.WithCancelCause(ctx)
	defer func() {
		cancel(nil)
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	go func() {
		ticker := time.NewTicker(leaseTTL / 4)
		defer ticker.Stop()
		for {
			select {
			case <-workCtx.Done():
				return
			case <-ticker.C:
				if ok, err := mutex.ExtendContext(workCtx); !ok {
					cancel(errors.Join(errLost, err))
					return
				}
			}
		}
	}()
	return printAll(workCtx, bills, print)
}
