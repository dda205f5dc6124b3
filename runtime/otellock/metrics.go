package otellock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Boundaries of the histograms, in seconds. An acquire that waits for nobody takes a round trip; one that
// waits takes as long as others hold. Holds last from milliseconds to a leader's days.
var (
	acquireBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	holdBounds    = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
	renewalBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
)

// meters are the instruments; doc.go has their names, units and attributes.
type meters struct {
	acquire, hold, renewal                   metric.Float64Histogram
	contended, losses, renewals, unconfirmed metric.Int64Counter
	held                                     metric.Int64UpDownCounter

	label     func(lock.Key) string
	slowAfter time.Duration
}

func newMeters(meter metric.Meter, o options) (*meters, error) {
	m := &meters{label: o.label, slowAfter: o.slowAfter}
	var errs []error
	for _, h := range []struct {
		to         *metric.Float64Histogram
		name, what string
		bounds     []float64
	}{
		{&m.acquire, "lock.acquire.duration", "Time from asking for a lock to the grant or the failure.", acquireBounds},
		{&m.hold, "lock.hold.duration", "Time from the grant of a lock to its release or loss.", holdBounds},
		{&m.renewal, "lock.renewal.duration", "Time that a renewal of a lease took.", renewalBounds},
	} {
		var err error
		*h.to, err = meter.Float64Histogram(h.name, metric.WithUnit("s"), metric.WithDescription(h.what),
			metric.WithExplicitBucketBoundaries(h.bounds...))
		errs = append(errs, err)
	}
	for _, c := range []struct {
		to               *metric.Int64Counter
		name, unit, what string
	}{
		{&m.contended, "lock.contended_acquires", "{acquire}", "Acquires that had to wait, or failed, because of another holder."},
		{&m.losses, "lock.losses", "{lock}", "Locks that ended before their holder released them."},
		{&m.renewals, "lock.renewals", "{renewal}", "Renewals of leases that were tried."},
		{&m.unconfirmed, "lock.unconfirmed_releases", "{release}", "Releases that the server did not confirm."},
	} {
		var err error
		*c.to, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.what))
		errs = append(errs, err)
	}
	var err error
	m.held, err = meter.Int64UpDownCounter("lock.held", metric.WithUnit("{lock}"),
		metric.WithDescription("Locks that this process holds."))
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("make instruments: %w", err)
	}
	return m, nil
}

// observe counts one event. Instruments must get a context for exemplars, and do not mind that it ended.
func (m *meters) observe(ctx context.Context, e lock.Event) {
	common := []attribute.KeyValue{backendKey.String(e.Backend)}
	if m.label != nil && len(e.Keys) > 0 {
		if label := m.label(e.Keys[0]); label != "" {
			common = append(common, labelKey.String(label))
		}
	}
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(slices.Concat(common, more)...)
	}
	switch e.Kind {
	case lock.Acquired, lock.Failed:
		m.acquired(ctx, e, with)
	case lock.Renewed:
		result := renewed
		if e.Err != nil {
			result = failed
		}
		m.renewals.Add(ctx, 1, with(outcomeKey.String(result)))
		m.renewal.Record(ctx, e.Took.Seconds(), with(outcomeKey.String(result)))
	case lock.Lost:
		m.ended(ctx, e, lost, with)
	case lock.Released:
		// A lost lock ended with the event Lost; its release is no second end.
		if how := end(e.Err); how != lost {
			m.ended(ctx, e, how, with)
		}
	}
}

type withAttributes func(more ...attribute.KeyValue) metric.MeasurementOption

func (m *meters) acquired(ctx context.Context, e lock.Event, with withAttributes) {
	result := outcome(e.Err)
	attrs := []attribute.KeyValue{mode(e), outcomeKey.String(result)}
	if result == failed {
		attrs = append(attrs, errorTypeKey.String(errorType(e.Err)))
	}
	m.acquire.Record(ctx, e.Took.Seconds(), with(attrs...))
	if e.Kind == lock.Acquired {
		m.held.Add(ctx, 1, with(mode(e)))
	}
	if reason := m.contention(e, result); reason != "" {
		m.contended.Add(ctx, 1, with(mode(e), reasonKey.String(reason)))
	}
}

// contention is why an acquire was in the way of another, or empty.
func (m *meters) contention(e lock.Event, result string) string {
	switch {
	case e.Queued:
		return "queued"
	case result == busy || result == timeout:
		return result
	case result == acquired && m.slowAfter > 0 && e.Took > m.slowAfter:
		return "slow"
	default:
		return ""
	}
}

func (m *meters) ended(ctx context.Context, e lock.Event, how string, with withAttributes) {
	m.held.Add(ctx, -1, with(mode(e)))
	m.hold.Record(ctx, e.Held.Seconds(), with(mode(e), endKey.String(how)))
	switch how {
	case lost, notHeld:
		m.losses.Add(ctx, 1, with(mode(e)))
	case unconfirmed:
		m.unconfirmed.Add(ctx, 1, with(mode(e)))
	}
}
