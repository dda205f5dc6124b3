package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// An Observer is told what happens to locks.
type Observer interface {
	// Observe is called once for each event, with the context of the call that led to it, for its values:
	// it may have ended. Events of one lock come in order and one at a time, from whichever goroutine:
	// those of a loss may come a moment after the holder has heard of it. Renewed comes when it comes.
	Observe(ctx context.Context, event Event)
}

// EventKind says what happened.
type EventKind int

const (
	Acquired EventKind = iota // after Took
	Failed                    // an acquire that gave no lock: Err, after Took
	Renewed                   // a renewal of a lease: Err when it failed, after Took
	Lost                      // Err says why, after Held
	Released                  // Err when it was not confirmed, after Took, and after Held
)

// String is the kind in lower case: "acquired".
func (k EventKind) String() string {
	names := [...]string{"acquired", "failed", "renewed", "lost", "released"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// An Event is one thing that happened to one lock.
type Event struct {
	Kind    EventKind
	Backend string // Backend.Name
	Keys    []Key  // not to be changed
	Shared  bool
	Queued  bool          // Acquired, Failed: others of this process were before us
	Took    time.Duration // what the operation itself took, with its waiting
	Held    time.Duration // Lost, Released: since the lock was acquired
	Err     error
}

// SlogObserver logs events: what went well at debug level, a lock that was busy at info, one that was
// lost at error, other failures at warn.
func SlogObserver(logger *slog.Logger) Observer { return slogObserver{logger} }

type slogObserver struct{ logger *slog.Logger }

func (o slogObserver) Observe(ctx context.Context, e Event) {
	level := slogLevel(e)
	if !o.logger.Enabled(ctx, level) {
		return
	}
	names := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		names[i] = k.String()
	}
	attrs := []slog.Attr{slog.String("backend", e.Backend), slog.Any("keys", names), slog.Bool("shared", e.Shared)}
	if e.Took > 0 {
		attrs = append(attrs, slog.Duration("took", e.Took))
	}
	if e.Kind == Lost || e.Kind == Released {
		attrs = append(attrs, slog.Duration("held", e.Held))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	o.logger.LogAttrs(ctx, level, "lock "+e.Kind.String(), attrs...)
}

func slogLevel(e Event) slog.Level {
	switch {
	case e.Err == nil:
		return slog.LevelDebug
	case e.Kind == Lost:
		return slog.LevelError
	case errors.Is(e.Err, ErrNotAcquired), errors.Is(e.Err, ErrTimeout), errors.Is(e.Err, context.Canceled):
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}
