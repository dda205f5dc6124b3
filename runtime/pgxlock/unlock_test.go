package pgxlock

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

const unlockKey = -987654321987

// unlocks are both functions, with the function that takes what they release, on both kinds of connection.
var unlocks = []struct {
	name, take string
	plain      func(context.Context, *pgx.Conn, int64) error
	pooled     func(context.Context, *pgxpool.Conn, int64) error
}{
	{"exclusive", "pg_advisory_lock", Unlock[*pgx.Conn], Unlock[*pgxpool.Conn]},
	{"shared", "pg_advisory_lock_shared", UnlockShared[*pgx.Conn], UnlockShared[*pgxpool.Conn]},
}

// eachUnlock gives a connection that holds the lock, and how to release it.
func eachUnlock(t *testing.T, test func(t *testing.T, s *server, holder *pgx.Conn, release func(context.Context) error)) {
	s := newServer(t)
	for _, u := range unlocks {
		take := func(t *testing.T, conn *pgx.Conn) {
			if _, err := conn.Exec(t.Context(), `SELECT `+u.take+`($1)`, unlockKey); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(u.name, func(t *testing.T) {
			conn := s.connect()
			take(t, conn)
			test(t, s, conn, func(ctx context.Context) error { return u.plain(ctx, conn, unlockKey) })
			s.free()
		})
		t.Run(u.name+" pooled", func(t *testing.T) {
			conn, err := openPool(t, s.url, 1).Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			take(t, conn.Conn())
			test(t, s, conn.Conn(), func(ctx context.Context) error { return u.pooled(ctx, conn, unlockKey) })
			s.free()
		})
	}
}

func TestUnlockReleasesAlsoWhenTheContextHasEnded(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ctx := range map[string]context.Context{"live": context.Background(), "ended": ended} {
		t.Run(name, func(t *testing.T) {
			eachUnlock(t, func(t *testing.T, s *server, holder *pgx.Conn, release func(context.Context) error) {
				if err := release(ctx); err != nil {
					t.Error(err)
				}
				s.freeAtOnce()
				if holder.IsClosed() {
					t.Error("the connection is closed")
				}
			})
		})
	}
}

func TestUnlockOfWhatIsNotHeldSaysSoAndLeavesTheConnection(t *testing.T) {
	eachUnlock(t, func(t *testing.T, s *server, holder *pgx.Conn, release func(context.Context) error) {
		if err := release(t.Context()); err != nil {
			t.Error(err)
		}
		err := release(t.Context())
		if !errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrUnconfirmed) || !strings.Contains(err.Error(), "-987654321987") {
			t.Errorf("a second time: %v, want ErrNotHeld with the key", err)
		}
		if holder.IsClosed() {
			t.Error("the connection is closed")
		}
	})
}

func TestUnlockClosesTheConnectionWhenTheServerDoesNotConfirm(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, *server, *pgx.Conn){
		"failed transaction": func(t *testing.T, _ *server, holder *pgx.Conn) {
			if _, err := holder.Exec(t.Context(), `BEGIN; SELECT 1/0`); err == nil {
				t.Error("no error of the division")
			}
		},
		"open rows": func(t *testing.T, _ *server, holder *pgx.Conn) {
			rows, err := holder.Query(t.Context(), `SELECT generate_series(1, 1000000)`)
			if err != nil || !rows.Next() {
				t.Errorf("rows: %v", err)
			}
			t.Cleanup(rows.Close)
		},
		"terminated": func(t *testing.T, s *server, holder *pgx.Conn) {
			s.exec(`SELECT pg_terminate_backend($1, 10000)`, holder.PgConn().PID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachUnlock(t, func(t *testing.T, s *server, holder *pgx.Conn, release func(context.Context) error) {
				spoil(t, s, holder)
				if err := release(t.Context()); !errors.Is(err, lock.ErrUnconfirmed) {
					t.Errorf("%v, want ErrUnconfirmed", err)
				}
				if !holder.IsClosed() {
					t.Error("the connection is open")
				}
				s.free()
			})
		})
	}
}
