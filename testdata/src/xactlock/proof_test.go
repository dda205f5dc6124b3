package xactlock

import (
	"context"
	"errors"
	"testing"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const card = 4711

// till is one of the package's programs with its handle filled in.
type till func(ctx context.Context, card int64, work Work) error

func onDB[H any](handle H, program func(context.Context, H, int64, Work) error) till {
	return func(ctx context.Context, card int64, work Work) error { return program(ctx, handle, card, work) }
}

func desk(t *testing.T, s *proof.Server) *Desk {
	t.Helper()
	d, err := NewDesk(s.Dialector())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLockIsGoneBeforeTheWorkBegins(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *proof.Server) till{
		"Redeem": func(_ *testing.T, s *proof.Server) till { return onDB(s.DB(), Redeem) },
		"Refund": func(_ *testing.T, s *proof.Server) till { return onDB(s.DB(), Refund) },
		"TopUp":  func(_ *testing.T, s *proof.Server) till { return onDB(s.Pool(2), TopUp) },
		"Expire": func(_ *testing.T, s *proof.Server) till { return onDB(s.DB(), Expire) },
		"Audit":  func(_ *testing.T, s *proof.Server) till { return onDB(s.Sqlx(), Audit) },
		"Merge":  func(_ *testing.T, s *proof.Server) till { return onDB(s.Bun(), Merge) },
		"Block":  func(t *testing.T, s *proof.Server) till { return desk(t, s).Block },
		"Void":   func(_ *testing.T, s *proof.Server) till { return onDB(s.DB(), Void) },
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			run := open(t, s)
			entered, leave := make(chan struct{}, 2), make(chan struct{})
			work := func(context.Context) error { entered <- struct{}{}; <-leave; return nil }
			first := proof.Start(t, func() error { return run(t.Context(), card, work) })
			<-entered
			if locks := s.Locks(proof.Key(card)); len(locks) != 0 {
				t.Errorf("locks during the work = %+v, want none", locks)
			}
			second := proof.Start(t, func() error { return run(t.Context(), card, work) })
			<-entered // both are inside, on one card
			close(leave)
			if err := errors.Join(first.Wait(), second.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLockLastsAsLongAsTheWork(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *proof.Server) till{
		"RedeemTx": func(_ *testing.T, s *proof.Server) till { return onDB(s.DB(), RedeemTx) },
		"ExpireTx": func(_ *testing.T, s *proof.Server) till { return onDB(s.Pool(2), ExpireTx) },
		"MergeTx":  func(_ *testing.T, s *proof.Server) till { return onDB(s.Bun(), MergeTx) },
		"BlockTx":  func(t *testing.T, s *proof.Server) till { return desk(t, s).BlockTx },
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			run := open(t, s)
			entered, leave := make(chan struct{}, 2), make(chan struct{})
			work := func(context.Context) error { entered <- struct{}{}; <-leave; return nil }
			first := proof.Start(t, func() error { return run(t.Context(), card, work) })
			<-entered
			if locks := s.Locks(proof.Key(card)); len(locks) != 1 || locks[0].State != "idle in transaction" {
				t.Errorf("locks during the work = %+v, want the worker's", locks)
			}
			second := proof.Start(t, func() error { return run(t.Context(), card, work) })
			s.WantWaiting()
			if len(entered) != 0 {
				t.Error("the second till is inside while the first is")
			}
			close(leave)
			if err := errors.Join(first.Wait(), second.Wait()); err != nil {
				t.Error(err)
			}
			s.WantFree(proof.Key(card))
		})
	}
}

func TestTryLockInATransactionRefusesTheSecond(t *testing.T) {
	s := proof.Postgres(t)
	pool := s.Pool(2)
	err := TopUpTx(t.Context(), pool, card, func(ctx context.Context) error {
		err := TopUpTx(ctx, pool, card, func(context.Context) error {
			t.Error("the second till is inside while the first is")
			return nil
		})
		if !errors.Is(err, ErrBusy) {
			t.Errorf("second till: %v, want %v", err, ErrBusy)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStringOfSeveralStatementsIsOneTransaction(t *testing.T) {
	s := proof.Postgres(t)
	s.Exec(`CREATE TABLE cards (cents bigint, expired bool); CREATE TABLE totals (cents bigint)`)
	// A session that holds the table cards stops the string at its second statement.
	other := s.Session()
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE cards`); err != nil {
		t.Fatal(err)
	}
	conn := s.Session()
	zero := proof.Start(t, func() error { return ZeroAll(t.Context(), conn) })
	if !proof.Soon(func() bool { return len(s.Locks(proof.Key(7001))) == 1 }) {
		t.Error("the lock is not held while the string's second statement waits")
	}
	zero.WantRunning()
	if err := errors.Join(tx.Rollback(t.Context()), zero.Wait()); err != nil {
		t.Error(err)
	}
	s.WantFree(proof.Key(7001))
}
