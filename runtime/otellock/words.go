package otellock

import (
	"context"
	"errors"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"go.opentelemetry.io/otel/attribute"
)

// Keys of attributes; doc.go has their meaning.
const (
	backendKey   = attribute.Key("lock.backend")
	modeKey      = attribute.Key("lock.mode")
	outcomeKey   = attribute.Key("lock.outcome")
	errorTypeKey = attribute.Key("error.type") // OpenTelemetry's own
	reasonKey    = attribute.Key("lock.contention.reason")
	endKey       = attribute.Key("lock.end")
	labelKey     = attribute.Key("lock.key.label")
	keysKey      = attribute.Key("lock.keys")
	queuedKey    = attribute.Key("lock.queued")
)

// Values of lock.outcome.
const (
	acquired = "acquired"
	busy     = "busy"
	timeout  = "timeout"
	renewed  = "renewed"
	failed   = "error"
)

// outcome is what became of an acquire.
func outcome(err error) string {
	switch {
	case err == nil:
		return acquired
	case errors.Is(err, lock.ErrNotAcquired):
		return busy
	case errors.Is(err, lock.ErrTimeout):
		return timeout
	default:
		return failed
	}
}

// canceled is the error.type of an acquire that its own caller ended.
const canceled = "canceled"

// errorTypes are tried in order: Close ends a wait by cancelling it.
var errorTypes = []struct {
	err  error
	name string
}{
	{lock.ErrClosed, "closed"},
	{lock.ErrDeadlock, "deadlock"},
	{lock.ErrLockTableFull, "lock_table_full"},
	{lock.ErrPooler, "pooler"},
	{lock.ErrPoolExhausted, "pool_exhausted"},
	{lock.ErrLost, "lost"},
	{errors.ErrUnsupported, "unsupported"},
	{context.Canceled, canceled},
}

// errorType names the error of an acquire. _OTHER is what OpenTelemetry asks for where no name fits.
func errorType(err error) string {
	for _, t := range errorTypes {
		if errors.Is(err, t.err) {
			return t.name
		}
	}
	return "_OTHER"
}

// Values of lock.end.
const (
	released    = "released"
	lost        = "lost"
	notHeld     = "not_held"
	unconfirmed = "unconfirmed"
)

// end is how a lock ended that was released with err.
func end(err error) string {
	switch {
	case err == nil:
		return released
	case errors.Is(err, lock.ErrLost):
		return lost
	case errors.Is(err, lock.ErrNotHeld):
		return notHeld
	default:
		return unconfirmed
	}
}

// mode is how the lock is held.
func mode(e lock.Event) attribute.KeyValue {
	if e.Shared {
		return modeKey.String("shared")
	}
	return modeKey.String("exclusive")
}
