package pgxlock

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/internal/goroutines"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

// behind gives what a test sees of a server that it reaches through PgBouncer only.
func behind(t *testing.T, mode string) *server {
	t.Helper()
	url := testserver.PgBouncer(t, mode)
	goroutines.Verify(t)
	config := parse(t, url)
	config.MaxConns = 2
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // it may know no prepared statements
	return &server{tb: t, url: url, admin: openConfig(t, config)}
}

func TestPoolerIsRefusedBeforeAnythingIsLocked(t *testing.T) {
	for _, c := range []struct {
		mode string
		opts []Option
	}{
		{"transaction", nil},
		{"transaction", []Option{AllowPooler()}},
		{"session", nil},
	} {
		name := c.mode
		if len(c.opts) > 0 {
			name += ", allowed"
		}
		t.Run(name, func(t *testing.T) {
			s := behind(t, c.mode)
			l := s.locker(c.opts...)
			key := lock.NewKey("pooler", c.mode)
			for range 3 {
				_, err := l.Acquire(context.Background(), key)
				if !errors.Is(err, lock.ErrPooler) || !contains(err, "AllowPooler") {
					t.Errorf("Acquire gave %v, want ErrPooler that says what to do", err)
				}
			}
			s.free()
		})
	}
}

func TestPoolerInSessionModeWorksWhenAllowed(t *testing.T) {
	s := behind(t, "session")
	l := s.locker(AllowPooler())
	for i := range 20 {
		key := lock.NewKey("pooler", "allowed", string(rune('a'+i)))
		h := take(t, l.Locker, key)
		if n := s.grants(key); n != 1 {
			t.Errorf("the server has %d grants", n)
		}
		if i == 0 {
			if err := h.Check(context.Background()); err != nil {
				t.Errorf("check: %v", err)
			}
		}
		if err := h.Release(context.Background()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	s.freeAtOnce()
}

func TestLossBehindAPoolerInSessionMode(t *testing.T) {
	s := behind(t, "session")
	l := s.locker(AllowPooler())
	key := lock.NewKey("pooler", "lost")
	h := take(t, l.Locker, key)
	s.terminate(key)
	lost(t, h)
	if err := h.Release(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release gave %v, want ErrLost", err)
	}
}
