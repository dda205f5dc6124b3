package leasewatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const bills = 4

// months is one function of bad.go or good.go.
type months func(ctx context.Context, month string, bills int, print Print) error

func on[H any](handle H, f func(context.Context, H, string, int, Print) error) months {
	return func(ctx context.Context, month string, bills int, print Print) error {
		return f(ctx, handle, month, bills, print)
	}
}

// farm is an etcd with a client that no program uses.
type farm struct {
	t      *testing.T
	client *clientv3.Client
}

func etcd(t *testing.T) *farm {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{testserver.Etcd(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return &farm{t: t, client: client}
}

// printer is a machine with a session of its own.
func (f *farm) printer(month func(*Printer, context.Context, string, int, Print) error) months {
	return func(ctx context.Context, name string, bills int, print Print) error {
		p, err := NewPrinter(f.client)
		if err != nil {
			f.t.Fatal(err)
		}
		// Closing a session whose lease is gone fails, and says nothing of the month.
		defer p.Close()
		return month(p, ctx, name, bills, print)
	}
}

// lose revokes the lease of the month's holder, as the server does when it was not heard of for a
// TTL, and lets another session take the month.
func (f *farm) lose(month string) {
	f.t.Helper()
	ctx := context.Background()
	holder, err := f.client.Get(ctx, "/bills/"+month+"/", clientv3.WithPrefix())
	if err != nil || len(holder.Kvs) != 1 {
		f.t.Fatalf("%d keys, %v; want the holder's", len(holder.Kvs), err)
	}
	if _, err := f.client.Revoke(ctx, clientv3.LeaseID(holder.Kvs[0].Lease)); err != nil {
		f.t.Fatal(err)
	}
	session, err := concurrency.NewSession(f.client)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { session.Close() })
	if err := concurrency.NewMutex(session, "/bills/"+month).TryLock(ctx); err != nil {
		f.t.Fatalf("another gets %v, want the month", err)
	}
}

func TestBadGoesOnAfterTheLoss(t *testing.T) {
	f := etcd(t)
	for name, run := range map[string]months{
		"function": on[*clientv3.Client](f.client, Etcd),
		"methods":  f.printer((*Printer).Month),
	} {
		t.Run(name, func(t *testing.T) {
			printed := 0
			err := run(t.Context(), name, bills, func(_ context.Context, bill int) error {
				if bill == 1 {
					f.lose(name)
				}
				printed++
				return nil
			})
			// Unlock and Close speak of the lease or say nothing; the work has ended well.
			if printed != bills || errors.Is(err, errLost) {
				t.Fatalf("printed %d bills, %v; want all %d, beside another machine", printed, err, bills)
			}
		})
	}
}

func TestGoodStopsAtTheLoss(t *testing.T) {
	f := etcd(t)
	for name, test := range map[string]struct {
		run  months
		want error
	}{
		"function":   {on[*clientv3.Client](f.client, EtcdWatched), errLost},
		"in step":    {f.printer((*Printer).MonthInStep), errLost},
		"in session": {f.printer((*Printer).MonthInSession), context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			// The client hears of the loss with its next renewal; the month is far longer than that.
			err := test.run(t.Context(), name, 1<<30, func(_ context.Context, bill int) error {
				if bill == 0 {
					f.lose(name)
				}
				time.Sleep(time.Millisecond)
				return nil
			})
			if !errors.Is(err, test.want) {
				t.Fatalf("ended with %v, want %v", err, test.want)
			}
			if err := test.run(t.Context(), name+" kept", bills, func(context.Context, int) error { return nil }); err != nil {
				t.Fatalf("a month that was kept ends with %v", err)
			}
		})
	}
	session, mutex, err := Claim(t.Context(), f.client, "handed over")
	if err != nil {
		t.Fatal(err)
	}
	f.lose("handed over")
	<-session.Done()
	if resp, err := f.client.Txn(t.Context()).If(mutex.IsOwner()).Commit(); err != nil || resp.Succeeded {
		t.Fatalf("owner after the loss: %v, %v", resp, err)
	}
}

func TestRedsync(t *testing.T) {
	s := proof.Redis(t)
	rs := redsync.New(goredis.NewPool(s.V9(s.Addr)))
	// overtaken lets another machine in at the first bill, and says how many were printed after that.
	overtaken := func(run months, month string, atMost int) (after int, err error) {
		err = run(t.Context(), month, atMost, func(ctx context.Context, bill int) error {
			if bill == 0 {
				s.Overtake("bills:lock:"+month, "another")
				return nil
			}
			after++
			time.Sleep(time.Millisecond)
			return nil
		})
		return after, err
	}
	for name, run := range map[string]months{
		"plain":            on[*redsync.Redsync](rs, Redsync),
		"extended blindly": on[*redsync.Redsync](rs, ExtendedBlindly),
	} {
		if after, err := overtaken(run, name, bills); after != bills-1 || errors.Is(err, errLost) {
			t.Fatalf("%s: printed %d bills beside another machine, %v; want %d", name, after, err, bills-1)
		}
	}
	for name, run := range map[string]months{
		"until":    on[*redsync.Redsync](rs, RedsyncUntil),
		"extended": on[*redsync.Redsync](rs, RedsyncExtended),
	} {
		if _, err := overtaken(run, name, 1<<40); !errors.Is(err, errLost) {
			t.Fatalf("%s: ended with %v, want %v", name, err, errLost)
		}
	}
}
