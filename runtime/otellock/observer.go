package otellock

import (
	"context"
	"fmt"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// scope is the instrumentation scope of all metrics and spans.
const scope = "github.com/advisorylint/advisorylint/runtime/otellock"

// New makes an observer for lock.WithObserver. One observer may serve any number of Lockers. Without
// options its metrics and spans go to the global providers of package otel. The error is that of
// the meter provider.
func New(opts ...Option) (lock.Observer, error) {
	o := defaults()
	for _, option := range opts {
		option(&o)
	}
	m, err := newMeters(o.meters.Meter(scope), o)
	if err != nil {
		return nil, fmt.Errorf("otellock: %w", err)
	}
	return observer{m, spans{o.tracers.Tracer(scope)}}, nil
}

type observer struct {
	meters *meters
	spans  spans
}

func (o observer) Observe(ctx context.Context, e lock.Event) {
	o.meters.observe(ctx, e)
	o.spans.observe(ctx, e)
}
