package pgxlock

import (
	"context"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestInspectionShowsALockersHolderAndWhoWaitsForIt(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("pgxlock", t.Name())
	holder, waiter := s.locker(), s.locker()
	h := take(t, holder.Locker, key)
	waited := make(chan error, 1)
	go func() {
		waited <- waiter.Do(context.Background(), key, func(context.Context) error { return nil })
	}()
	eventually(t, "a waiter", func() bool { return s.waiters() == 1 })
	holders, err := Holders(t.Context(), s.admin)
	if err != nil {
		t.Fatal(err)
	}
	waiters, err := Waiters(t.Context(), s.connect())
	if err != nil {
		t.Fatal(err)
	}
	if len(holders) != 1 || holders[0].Key != (LockKey{Int64: key.Int64()}) || int64(holders[0].PID) != s.holder(key) {
		t.Errorf("holders %+v", holders)
	}
	if len(waiters) != 1 || waiters[0].Key.Int64 != key.Int64() || len(waiters[0].Blockers) != 1 || waiters[0].Blockers[0] != holders[0].PID {
		t.Errorf("waiters %+v", waiters)
	}
	eventually(t, "a suspect", func() bool {
		suspects, err := LeakSuspects(t.Context(), s.admin, time.Millisecond)
		return err == nil && len(suspects) == 1 && suspects[0].PID == holders[0].PID
	})
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
