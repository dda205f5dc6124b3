package otellock

import (
	"context"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// spans makes a span from the event that ends it.
type spans struct{ tracer trace.Tracer }

func (s spans) observe(ctx context.Context, e lock.Event) {
	now := time.Now()
	switch e.Kind {
	case lock.Acquired, lock.Failed:
		result := outcome(e.Err)
		attrs := []attribute.KeyValue{outcomeKey.String(result), queuedKey.Bool(e.Queued)}
		if result == failed {
			attrs = append(attrs, errorTypeKey.String(errorType(e.Err)))
		}
		wrong := result == timeout || result == failed && errorType(e.Err) != canceled
		s.record(ctx, "lock acquire", now.Add(-e.Took), now, e, wrong, attrs...)
	case lock.Lost:
		s.record(ctx, "lock hold", now.Add(-e.Held), now, e, true, endKey.String(lost))
	case lock.Released:
		how := end(e.Err)
		if how == lost {
			return // its span ended with the loss
		}
		// Held ends where the release begins, which took Took.
		asked := now.Add(-e.Took)
		s.record(ctx, "lock hold", asked.Add(-e.Held), asked, e, how != released, endKey.String(how))
	}
}

func (s spans) record(ctx context.Context, name string, start, stop time.Time, e lock.Event, wrong bool, attrs ...attribute.KeyValue) {
	_, span := s.tracer.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindClient))
	defer span.End(trace.WithTimestamp(stop))
	if !span.IsRecording() {
		return
	}
	names := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		names[i] = k.String()
	}
	span.SetAttributes(append(attrs, backendKey.String(e.Backend), mode(e), keysKey.StringSlice(names))...)
	if e.Err != nil {
		span.RecordError(e.Err, trace.WithTimestamp(stop))
	}
	if wrong {
		span.SetStatus(codes.Error, e.Err.Error())
	}
}
