package pgxlock

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest"
)

func TestConformance(t *testing.T) {
	s := newServer(t)
	s.exec(Schema)
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB, opts ...lock.Option) *lock.Locker {
			tb.Helper()
			l, err := New(tb.Context(), parse(tb, s.url), MaxConns(40), Fencing(), Defaults(opts...))
			if err != nil {
				tb.Fatal(err)
			}
			return l.Locker
		},
		Grants: func(tb testing.TB, key lock.Key) int { return int(s.grants(key)) },
		Break:  func(tb testing.TB, key lock.Key) { s.terminate(key) },
		Waiters: func(tb testing.TB, key lock.Key) int {
			return int(s.number(`SELECT count(*)`+here+` AND NOT granted AND (classid::bigint << 32) | objid::bigint = $1`, key.Int64()))
		},
		Lost:    2 * time.Second,
		TTL:     500 * time.Millisecond,
		Shared:  true,
		Fencing: true,
		Claims:  true,

		Goroutines: []goleak.Option{goroutines.OfOpenPgx()}, // of the connections that the hooks use
	})
}
