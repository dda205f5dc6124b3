package mysqllock

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestDoKeepsALockerOfAPoolOnlyWhileItIsCalled(t *testing.T) {
	db, err := sql.Open("mysql", testserver.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	known := func() *member {
		lockers.mu.Lock()
		defer lockers.mu.Unlock()
		return lockers.of[db]
	}
	err = Do(context.Background(), db, lock.NewKey(t.Name(), "outer"), func(ctx context.Context) error {
		outer := known()
		if outer == nil {
			t.Error("the pool has no locker while Do is called")
		}
		return Do(ctx, db, lock.NewKey(t.Name(), "inner"), func(context.Context) error {
			if known() != outer {
				t.Error("the pool has another locker in the inner Do")
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if known() != nil {
		t.Error("the pool has a locker after the last Do")
	}
}
