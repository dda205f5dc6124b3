package pgxlock

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestPoolOfDoIsForgottenWithTheProgramsLastUse(t *testing.T) {
	s := newServer(t)
	pool := func() weak.Pointer[pgxpool.Pool] {
		pool, err := pgxpool.New(context.Background(), s.url)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close() // an open one has goroutines that refer to it
		for range 2 {
			if err := Do(context.Background(), pool, lock.NewKey("forgotten"), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		return weak.Make(pool)
	}()
	eventually(t, "the pool is not referred to", func() bool { runtime.GC(); return pool.Value() == nil })
}
