package otellock

import (
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// DefaultSlowAfter is what SlowAfter is unless said.
const DefaultSlowAfter = 100 * time.Millisecond

// An Option changes what New makes. Later options win.
type Option func(*options)

type options struct {
	meters    metric.MeterProvider
	tracers   trace.TracerProvider
	label     func(lock.Key) string
	slowAfter time.Duration
}

// defaults reads the global providers when New is called. Those of package otel pass on to the
// providers that a program sets later.
func defaults() options {
	return options{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider(), slowAfter: DefaultSlowAfter}
}

// WithMeterProvider makes the metrics with provider instead of the global one. Nil changes nothing.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(o *options) {
		if provider != nil {
			o.meters = provider
		}
	}
}

// WithTracerProvider makes the spans with provider instead of the global one. Nil changes nothing.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(o *options) {
		if provider != nil {
			o.tracers = provider
		}
	}
}

// WithKeyLabel adds lock.key.label to metrics: what label makes of the first key of a lock. It should
// have few values, such as the namespace: each is a time series of its own. For a label that is empty
// there is no attribute. Without this option, and with nil, there is none at all.
func WithKeyLabel(label func(lock.Key) string) Option {
	return func(o *options) { o.label = label }
}

// SlowAfter is how long an acquire may take that did not have to wait. A longer one counts as contended
// with the reason slow, since nothing else tells that it waited at the server for another process. Choose
// more than the slowest round trips to the server; 0 counts none.
func SlowAfter(d time.Duration) Option {
	return func(o *options) { o.slowAfter = d }
}
