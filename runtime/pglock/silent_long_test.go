//go:build long

package pglock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

// It waits for the 5 s of an unlock; TestSilentNetworkIsNoticedAndReleaseDoesNotWaitForIt goes the same ways.
func TestUnlockOnASilentNetworkIsBounded(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel() // each waits for 5 s
			proxy, watch, db := proxied(t, driver, testserver.Postgres(t))
			c := session(t, db)
			exec(t, c, lockOf("pg_advisory_lock", unlockKey))
			proxy.Blackhole(true)
			start := time.Now()
			if err := pglock.Unlock(context.Background(), c, unlockKey); !errors.Is(err, lock.ErrUnconfirmed) {
				t.Errorf("%v, want ErrUnconfirmed", err)
			}
			if d := time.Since(start); d > patience {
				t.Errorf("took %v", d)
			}
			proxy.Blackhole(false)
			wantNothing(t, watch)
		})
	}
}
