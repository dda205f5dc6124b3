package pglock_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

func bigint(k int64) pglock.LockKey  { return pglock.LockKey{Int64: k} }
func pair(a, b int32) pglock.LockKey { return pglock.LockKey{Pair: true, Parts: [2]int32{a, b}} }

// keys are what decoding gets wrong: signs, and halves that look alike.
var keys = []pglock.LockKey{
	bigint(0), bigint(1), bigint(-1), bigint(math.MaxInt64), bigint(math.MinInt64), bigint(1 << 32), bigint(-1 << 32),
	bigint(1<<32 | 2), bigint(math.MaxUint32), bigint(math.MaxInt32), bigint(math.MinInt32),
	pair(0, 0), pair(1, 2), pair(-1, -2), pair(-1, 2), pair(1, -2), pair(math.MaxInt32, math.MinInt32), pair(math.MinInt32, math.MaxInt32),
}

func TestHoldersDecodeEveryKey(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(0)
		for _, key := range keys {
			c := session(t, db)
			call := fmt.Sprintf("'%d'::bigint", key.Int64)
			if key.Pair {
				call = fmt.Sprintf("'%d'::int, '%d'::int", key.Parts[0], key.Parts[1])
			}
			exec(t, c, `SELECT pg_advisory_lock(`+call+`)`)
			infos, err := pglock.Holders(patient(t), db)
			if err != nil {
				t.Fatal(err)
			}
			if len(infos) != 1 || infos[0].Key != key || infos[0].PID != pid(t, c) || !infos[0].Granted {
				t.Errorf("key %v: holders %+v, want one with the key and pid %d", key, infos, pid(t, c))
			}
			exec(t, c, `SELECT pg_advisory_unlock(`+call+`)`)
			c.Close()
		}
	})
}

func TestKeysOfBothFormsAreDifferentAndPrintAsArguments(t *testing.T) {
	seen := map[string]pglock.LockKey{}
	for _, key := range keys {
		if other, ok := seen[key.String()]; ok {
			t.Errorf("%+v and %+v are both %q", key, other, key)
		}
		seen[key.String()] = key
	}
	if s := pair(1, -2).String(); s != "1, -2" {
		t.Errorf("a pair is %q", s)
	}
}

func TestWaitersNameWhoIsInTheWay(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(0)
		holder, waiter := session(t, db), session(t, db)
		exec(t, holder, `SET application_name = 'the holder'`)
		exec(t, waiter, `SET application_name = 'the waiter'`)
		exec(t, holder, `SELECT pg_advisory_lock_shared(7)`)
		holderPID, waiterPID := pid(t, holder), pid(t, waiter)
		waited := make(chan error, 1)
		go func() {
			_, err := waiter.ExecContext(context.Background(), `SELECT pg_advisory_lock(7)`)
			waited <- err
		}()
		var infos []pglock.LockInfo
		eventually(t, "a waiter", func() (seen bool) {
			var err error
			if infos, err = pglock.Waiters(patient(t), db); err != nil {
				t.Fatal(err)
			}
			return len(infos) == 1 && !infos[0].WaitStart.IsZero()
		})
		w := infos[0]
		if w.Key != bigint(7) || w.Granted || w.Shared() || w.PID != waiterPID || w.Application != "the waiter" || w.State != "active" ||
			w.Query != `SELECT pg_advisory_lock(7)` || len(w.Blockers) != 1 || w.Blockers[0] != holderPID {
			t.Errorf("waiter %+v", w)
		}
		if d := time.Since(w.Since()); d < -time.Second || d > 2*patience {
			t.Errorf("waits since %v", w.Since())
		}
		infos, err := pglock.Holders(patient(t), db)
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) != 1 {
			t.Fatalf("holders %+v", infos)
		}
		h := infos[0]
		if h.PID != holderPID || !h.Shared() || h.Mode != "ShareLock" || h.Application != "the holder" || h.State != "idle" || h.Blockers != nil ||
			h.User == "" || h.Client == "" || h.BackendStart.IsZero() || h.Since() != h.StateChange || h.Since().IsZero() {
			t.Errorf("holder %+v", h)
		}
		exec(t, holder, `SELECT pg_advisory_unlock_shared(7)`)
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

func TestLocksOfOtherDatabasesAreNotShown(t *testing.T) {
	each(t, func(t *testing.T, here func(int) *sql.DB) {
		db, other := here(0), open(t, "pgx", testserver.Postgres(t), 0)
		exec(t, session(t, other), `SELECT pg_advisory_lock(1)`)
		if infos, err := pglock.Holders(patient(t), other); err != nil || len(infos) != 1 {
			t.Errorf("in its own database: %+v, %v, want the lock", infos, err)
		}
		if infos, err := pglock.Holders(patient(t), db); err != nil || len(infos) != 0 {
			t.Errorf("in another database: %+v, %v, want nothing", infos, err)
		}
	})
}

func TestLeakSuspectsAreIdleForLongerThanTheThreshold(t *testing.T) {
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db := open(0)
		leaked, inside, busy := session(t, db), session(t, db), session(t, db)
		exec(t, leaked, `SELECT pg_advisory_lock(1)`)
		exec(t, inside, `BEGIN`)
		exec(t, inside, `SELECT pg_advisory_xact_lock(2)`)
		exec(t, busy, `SELECT pg_advisory_lock(3)`)
		busyPID := pid(t, busy)
		done := make(chan error, 1)
		go func() {
			_, err := busy.ExecContext(context.Background(), `SELECT pg_sleep(1000)`)
			done <- err
		}()
		var infos []pglock.LockInfo
		eventually(t, "two suspects", func() bool {
			var err error
			if infos, err = pglock.LeakSuspects(patient(t), db, 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			return len(infos) == 2
		})
		if infos[0].Key != bigint(1) || infos[0].State != "idle" || infos[1].Key != bigint(2) || infos[1].State != "idle in transaction" {
			t.Errorf("suspects %+v", infos)
		}
		if infos, err := pglock.LeakSuspects(patient(t), db, time.Hour); err != nil || len(infos) != 0 {
			t.Errorf("idle for an hour: %+v, %v", infos, err)
		}
		exec(t, db, `SELECT pg_cancel_backend($1)`, busyPID)
		<-done
	})
}

func TestLeakSuspectsAreNotLocksWithAHeartbeat(t *testing.T) {
	const threshold, tries = 500 * time.Millisecond, 40 // tries, since load may hold up a heartbeat
	each(t, func(t *testing.T, open func(int) *sql.DB) {
		db, key := open(0), keyOf(t)
		h := take(t, newLocker(t, open(0), pglock.Heartbeat(20*time.Millisecond)), key)
		leaked := session(t, db)
		exec(t, leaked, `SELECT pg_advisory_lock(1)`)
		var infos []pglock.LockInfo
		for range tries {
			time.Sleep(threshold)
			var err error
			if infos, err = pglock.LeakSuspects(patient(t), db, threshold); err != nil {
				t.Fatal(err)
			}
			if len(infos) == 1 && infos[0].Key == bigint(1) {
				break
			}
		}
		if len(infos) != 1 || infos[0].Key != bigint(1) {
			t.Errorf("suspects %+v, want the one lock that nobody watches", infos)
		}
		if err := h.Release(patient(t)); err != nil {
			t.Error(err)
		}
	})
}
