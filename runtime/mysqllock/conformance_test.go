package mysqllock_test

import (
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestBackendPassesTheSuite(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB, opts ...lock.Option) *lock.Locker {
			l, err := mysqllock.New(s.pool(tb, nil), mysqllock.Fencing(),
				mysqllock.Heartbeat(100*time.Millisecond), mysqllock.Defaults(opts...))
			if err != nil {
				tb.Fatal(err)
			}
			return l.Locker
		},
		Grants: func(tb testing.TB, key lock.Key) int {
			if s.holder(key.Name64()) != 0 {
				return 1
			}
			return 0
		},
		Break:   func(tb testing.TB, key lock.Key) { s.kill(s.holder(key.Name64())) },
		Waiters: func(tb testing.TB, key lock.Key) int { return s.waiters(key.Name64()) },
		Lost:    400 * time.Millisecond, // the heartbeat and its answer
		Fencing: true,
		Claims:  true,
	})
}
