package lock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// logged is what SlogObserver writes of an event from a level on, without the time; nil when nothing.
func logged(t *testing.T, from slog.Level, e lock.Event) map[string]any {
	t.Helper()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: from}))
	lock.SlogObserver(logger).Observe(t.Context(), e)
	if out.Len() == 0 {
		return nil
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, &out)
	}
	delete(line, slog.TimeKey)
	return line
}

func TestSlogLevelSaysWhoMustCare(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("postgresql: acquire %q: %w", "a/b", err) }
	for _, c := range []struct {
		what string
		kind lock.EventKind
		err  error
		want string
	}{
		{"a grant", lock.Acquired, nil, "DEBUG"},
		{"a renewal", lock.Renewed, nil, "DEBUG"},
		{"a release", lock.Released, nil, "DEBUG"},
		{"a busy lock", lock.Failed, wrapped(lock.ErrNotAcquired), "INFO"},
		{"a wait that timed out", lock.Failed, wrapped(lock.ErrTimeout), "INFO"},
		{"a wait that its caller ended", lock.Failed, wrapped(context.Canceled), "INFO"},
		{"a deadlock", lock.Failed, wrapped(lock.ErrDeadlock), "WARN"},
		{"a server that does not answer", lock.Failed, errors.New("dial tcp: refused"), "WARN"},
		{"a renewal that failed", lock.Renewed, errors.New("i/o timeout"), "WARN"},
		{"a release that was not confirmed", lock.Released, wrapped(lock.ErrUnconfirmed), "WARN"},
		{"a release of a lock that is gone", lock.Released, wrapped(lock.ErrNotHeld), "WARN"},
		{"a loss", lock.Lost, wrapped(lock.ErrLost), "ERROR"},
	} {
		line := logged(t, slog.LevelDebug, lock.Event{Kind: c.kind, Err: c.err})
		if got, want := line[slog.LevelKey], c.want; got != want {
			t.Errorf("%s: level %v, want %s", c.what, got, want)
		}
		if got, want := line[slog.MessageKey], "lock "+c.kind.String(); got != want {
			t.Errorf("%s: message %v, want %s", c.what, got, want)
		}
	}
}

func TestSlogAttributesAreThoseThatTheEventHas(t *testing.T) {
	a, b := lock.NewKey("shop", "cart", "7"), lock.NewKey("shop", "stock")
	for _, c := range []struct {
		what  string
		event lock.Event
		want  map[string]any
	}{
		{"a grant of two keys, shared", lock.Event{Kind: lock.Acquired, Backend: "postgresql", Keys: []lock.Key{a, b}, Shared: true, Took: time.Millisecond},
			map[string]any{"level": "DEBUG", "msg": "lock acquired", "backend": "postgresql",
				"keys": []any{"shop/cart/7", "shop/stock"}, "shared": true, "took": float64(time.Millisecond)}},
		{"a loss, which took nothing", lock.Event{Kind: lock.Lost, Backend: "redis", Keys: []lock.Key{a}, Held: time.Second, Err: lock.ErrLost},
			map[string]any{"level": "ERROR", "msg": "lock lost", "backend": "redis",
				"keys": []any{"shop/cart/7"}, "shared": false, "held": float64(time.Second), "error": "lock lost"}},
		{"a release, with how long it was held even when that is nothing", lock.Event{Kind: lock.Released, Backend: "mysql", Keys: []lock.Key{a}, Took: time.Second},
			map[string]any{"level": "DEBUG", "msg": "lock released", "backend": "mysql",
				"keys": []any{"shop/cart/7"}, "shared": false, "took": float64(time.Second), "held": float64(0)}},
		{"a failure", lock.Event{Kind: lock.Failed, Backend: "redis", Keys: []lock.Key{b}, Took: time.Minute, Err: lock.ErrTimeout},
			map[string]any{"level": "INFO", "msg": "lock failed", "backend": "redis",
				"keys": []any{"shop/stock"}, "shared": false, "took": float64(time.Minute), "error": lock.ErrTimeout.Error()}},
	} {
		if got := logged(t, slog.LevelDebug, c.event); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.what, got, c.want)
		}
	}
}

func TestSlogIsSilentBelowTheLoggersLevel(t *testing.T) {
	for _, e := range []lock.Event{
		{Kind: lock.Acquired},
		{Kind: lock.Failed, Err: lock.ErrNotAcquired},
	} {
		if line := logged(t, slog.LevelWarn, e); line != nil {
			t.Errorf("%v was logged: %v", e.Kind, line)
		}
	}
	if line := logged(t, slog.LevelWarn, lock.Event{Kind: lock.Lost, Err: lock.ErrLost}); line == nil {
		t.Error("a loss was not logged")
	}
}

// contextHandler notes the context that a record came with.
type contextHandler struct {
	slog.Handler
	got *context.Context
}

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	*h.got = ctx
	return h.Handler.Handle(ctx, r)
}

// Handlers read trace identifiers from the context.
func TestSlogGetsTheContextOfTheCall(t *testing.T) {
	type trace struct{}
	var got context.Context
	logger := slog.New(contextHandler{slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelDebug}), &got})
	lock.SlogObserver(logger).Observe(context.WithValue(t.Context(), trace{}, "4bf92f"), lock.Event{Kind: lock.Acquired})
	if got == nil || got.Value(trace{}) != "4bf92f" {
		t.Errorf("the handler got %v, which has not the values of the call's context", got)
	}
}

func TestEventKindsHaveNamesOfTheirOwn(t *testing.T) {
	want := map[lock.EventKind]string{lock.Acquired: "acquired", lock.Failed: "failed", lock.Renewed: "renewed",
		lock.Lost: "lost", lock.Released: "released", -1: "unknown", lock.Released + 1: "unknown"}
	for kind, name := range want {
		if got := kind.String(); got != name {
			t.Errorf("kind %d is %q, want %q", int(kind), got, name)
		}
	}
}
