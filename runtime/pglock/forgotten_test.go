package pglock_test

import (
	"context"
	"database/sql"
	"runtime"
	"testing"
	"weak"

	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/pglock"
)

func TestPoolOfDoIsForgottenWithTheProgramsLastUse(t *testing.T) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			url := databases[driver]()
			goroutines.Verify(t)
			pool := usedPool(t, driver, url)
			eventually(t, "the pool is not referred to", func() bool { runtime.GC(); return pool.Value() == nil })
		})
	}
}

// usedPool is a pool that locks were taken on, and that is closed: an open one is database/sql's.
func usedPool(t *testing.T, driver, url string) weak.Pointer[sql.DB] {
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		if err := pglock.Do(patient(t), db, keyOf(t), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	return weak.Make(db)
}
