// Package leasewatch prints the bills of a month, on one machine of several. A bill that is printed
// twice is sent twice.
package leasewatch

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const (
	sessionTTL = 10 // seconds
	leaseTTL   = 2 * time.Second
)

var errLost = errors.New("the month is not ours any more")

// Print prints one bill.
type Print func(ctx context.Context, bill int) error

func printAll(ctx context.Context, bills int, print Print) error {
	for bill := range bills {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := print(ctx, bill); err != nil {
			return err
		}
	}
	return nil
}

// Etcd prints on, whatever becomes of its session.
func Etcd(ctx context.Context, client *clientv3.Client, month string, bills int, print Print) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	mutex := concurrency.NewMutex(session, "/bills/"+month)
	if err := mutex.Lock(ctx); err != nil { // want `nobody watches for the loss`
		return err
	}
	defer func() { err = errors.Join(err, mutex.Unlock(context.WithoutCancel(ctx))) }()
	return printAll(ctx, bills, print)
}

// Printer is one machine, with one session for all that it does.
type Printer struct {
	session *concurrency.Session
}

// NewPrinter makes the session.
func NewPrinter(client *clientv3.Client) (*Printer, error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(sessionTTL))
	if err != nil {
		return nil, err
	}
	return &Printer{session: session}, nil
}

// Close ends the session.
func (p *Printer) Close() error { return p.session.Close() }

// Month prints if no other machine does.
func (p *Printer) Month(ctx context.Context, month string, bills int, print Print) error {
	mutex := concurrency.NewMutex(p.session, "/bills/"+month)
	if err := mutex.TryLock(ctx); err != nil { // want `nobody watches for the loss`
		return err
	}
	return errors.Join(printAll(ctx, bills, print), mutex.Unlock(context.WithoutCancel(ctx)))
}

// Redsync prints for as long as it takes, and has the lock for as long as it has it.
func Redsync(ctx context.Context, rs *redsync.Redsync, month string, bills int, print Print) (err error) {
	mutex := rs.NewMutex("bills:lock:"+month, redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil { // want `nobody watches for the loss`
		return err
	}
	defer func() {
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	return printAll(ctx, bills, print)
}

// ExtendedBlindly extends and does not look at what it is told.
func ExtendedBlindly(ctx context.Context, rs *redsync.Redsync, month string, bills int, print Print) (err error) {
	mutex := rs.NewMutex("bills:lock:"+month, redsync.WithExpiry(leaseTTL))
	if err := mutex.LockContext(ctx); err != nil { // want `nobody watches for the loss`
		return err
	}
	keepCtx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	go func() {
		ticker := time.NewTicker(leaseTTL / 4)
		defer ticker.Stop()
		for {
			select {
			case <-keepCtx.Done():
				return
			case <-ticker.C:
				_, _ = mutex.ExtendContext(keepCtx)
			}
		}
	}()
	return printAll(ctx, bills, print)
}
