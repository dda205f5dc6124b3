package mysqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestPoolOfDoIsForgottenWithTheProgramsLastUse(t *testing.T) {
	s := newServer(t)
	pool := func() weak.Pointer[sql.DB] {
		db, err := sql.Open("mysql", s.dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close() // an open one is database/sql's
		for range 2 {
			if err := mysqllock.Do(patient(t), db, key(t), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		return weak.Make(db)
	}()
	s.eventually(10*time.Second, func() error {
		runtime.GC()
		if pool.Value() != nil {
			return errors.New("the pool is referred to")
		}
		return nil
	})
}
