package otellock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/otellock"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// telemetry is an observer whose metrics and spans stay in memory.
type telemetry struct {
	lock.Observer
	tracers *sdktrace.TracerProvider
	reader  *sdkmetric.ManualReader
	spans   *tracetest.SpanRecorder
}

func newTelemetry(t *testing.T, opts ...otellock.Option) *telemetry {
	t.Helper()
	got := &telemetry{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(got.reader))
	got.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got.spans))
	t.Cleanup(func() {
		if err := errors.Join(meters.Shutdown(context.Background()), got.tracers.Shutdown(context.Background())); err != nil {
			t.Errorf("shut down the providers: %v", err)
		}
	})
	var err error
	got.Observer, err = otellock.New(append(opts, otellock.WithMeterProvider(meters), otellock.WithTracerProvider(got.tracers))...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// series are all time series, "name unit{attribute=value ...}" with the attributes in order, and what they
// count: of a histogram its observations.
func (o *telemetry) series(t *testing.T) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	o.each(t, func(m metricdata.Metrics) {
		put := func(attrs attribute.Set, n int64) { got[m.Name+" "+m.Unit+words(attrs)] = n }
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				put(p.Attributes, p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				put(p.Attributes, int64(p.Count))
			}
		default:
			t.Errorf("%s is a %T", m.Name, m.Data)
		}
	})
	return got
}

func (o *telemetry) each(t *testing.T, do func(metricdata.Metrics)) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			do(m)
		}
	}
}

// sum is what a histogram's observations add up to, in seconds.
func (o *telemetry) sum(t *testing.T, name string) (sum float64) {
	t.Helper()
	o.each(t, func(m metricdata.Metrics) {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == name {
			for _, p := range h.DataPoints {
				sum += p.Sum
			}
		}
	})
	return sum
}

func words(attrs attribute.Set) string {
	var all []string
	for _, a := range attrs.ToSlice() {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(all)
	return "{" + strings.Join(all, " ") + "}"
}

const x = "lock.backend=postgresql lock.mode=exclusive"

func event(kind lock.EventKind, err error) lock.Event {
	return lock.Event{Kind: kind, Backend: "postgresql", Keys: []lock.Key{lock.NewKey("shop", "cart", "7")}, Took: time.Millisecond, Err: err}
}

func TestEachEventIsCountedUnderItsOutcome(t *testing.T) {
	queued, slow := event(lock.Acquired, nil), event(lock.Acquired, nil)
	queued.Queued, slow.Took = true, 2*time.Second
	shared := event(lock.Acquired, nil)
	shared.Shared = true
	held := "lock.held {lock}{" + x + "}"
	for _, c := range []struct {
		name   string
		events []lock.Event
		want   map[string]int64
	}{
		{"a grant", []lock.Event{event(lock.Acquired, nil)}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}": 1, held: 1}},
		{"a shared grant", []lock.Event{shared}, map[string]int64{
			"lock.acquire.duration s{lock.backend=postgresql lock.mode=shared lock.outcome=acquired}": 1,
			"lock.held {lock}{lock.backend=postgresql lock.mode=shared}":                              1}},
		{"a grant that queued", []lock.Event{queued}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}": 1, held: 1,
			"lock.contended_acquires {acquire}{lock.backend=postgresql lock.contention.reason=queued lock.mode=exclusive}": 1}},
		{"a grant that took long", []lock.Event{slow}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}": 1, held: 1,
			"lock.contended_acquires {acquire}{lock.backend=postgresql lock.contention.reason=slow lock.mode=exclusive}": 1}},
		{"a lock that is busy", []lock.Event{event(lock.Failed, fmt.Errorf("try: %w", lock.ErrNotAcquired))}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=busy}":                                                       1,
			"lock.contended_acquires {acquire}{lock.backend=postgresql lock.contention.reason=busy lock.mode=exclusive}": 1}},
		{"a wait that ended", []lock.Event{event(lock.Failed, fmt.Errorf("wait: %w", lock.ErrTimeout))}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=timeout}":                                                       1,
			"lock.contended_acquires {acquire}{lock.backend=postgresql lock.contention.reason=timeout lock.mode=exclusive}": 1}},
		{"a failure", []lock.Event{event(lock.Failed, fmt.Errorf("wait: %w", lock.ErrDeadlock)), event(lock.Failed, errors.New("dial"))}, map[string]int64{
			"lock.acquire.duration s{error.type=deadlock " + x + " lock.outcome=error}": 1,
			"lock.acquire.duration s{error.type=_OTHER " + x + " lock.outcome=error}":   1}},
		{"a release", []lock.Event{event(lock.Acquired, nil), event(lock.Released, nil)}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}":                            1,
			"lock.hold.duration s{lock.backend=postgresql lock.end=released lock.mode=exclusive}": 1, held: 0}},
		{"a release that was not confirmed", []lock.Event{event(lock.Acquired, nil), event(lock.Released, lock.ErrUnconfirmed)}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}":                               1,
			"lock.unconfirmed_releases {release}{" + x + "}":                                         1,
			"lock.hold.duration s{lock.backend=postgresql lock.end=unconfirmed lock.mode=exclusive}": 1, held: 0}},
		{"a release that found the lock gone", []lock.Event{event(lock.Acquired, nil), event(lock.Released, lock.ErrNotHeld)}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}":                            1,
			"lock.losses {lock}{" + x + "}":                                                       1,
			"lock.hold.duration s{lock.backend=postgresql lock.end=not_held lock.mode=exclusive}": 1, held: 0}},
		{"a loss and the release after it, as one end", []lock.Event{event(lock.Acquired, nil), event(lock.Lost, lock.ErrLost), event(lock.Released, lock.ErrLost)}, map[string]int64{
			"lock.acquire.duration s{" + x + " lock.outcome=acquired}":                        1,
			"lock.losses {lock}{" + x + "}":                                                   1,
			"lock.hold.duration s{lock.backend=postgresql lock.end=lost lock.mode=exclusive}": 1, held: 0}},
		{"renewals", []lock.Event{event(lock.Renewed, nil), event(lock.Renewed, nil), event(lock.Renewed, errors.New("io"))}, map[string]int64{
			"lock.renewals {renewal}{lock.backend=postgresql lock.outcome=renewed}": 2,
			"lock.renewals {renewal}{lock.backend=postgresql lock.outcome=error}":   1,
			"lock.renewal.duration s{lock.backend=postgresql lock.outcome=renewed}": 2,
			"lock.renewal.duration s{lock.backend=postgresql lock.outcome=error}":   1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newTelemetry(t)
			for _, e := range c.events {
				o.Observe(t.Context(), e)
			}
			if got := o.series(t); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestDurationsAreInSeconds(t *testing.T) {
	o := newTelemetry(t)
	took := event(lock.Acquired, nil)
	took.Took = 1500 * time.Millisecond
	held := event(lock.Released, nil)
	held.Held = 90 * time.Second
	renewal := event(lock.Renewed, nil)
	renewal.Took = 250 * time.Millisecond
	for _, e := range []lock.Event{took, held, renewal} {
		o.Observe(t.Context(), e)
	}
	for name, want := range map[string]float64{"lock.acquire.duration": 1.5, "lock.hold.duration": 90, "lock.renewal.duration": 0.25} {
		if got := o.sum(t, name); got != want {
			t.Errorf("%s: sum %v, want %v", name, got, want)
		}
	}
}

func TestSlowAfterSaysWhichGrantsHadToWait(t *testing.T) {
	for _, c := range []struct {
		after, took time.Duration
		want        int64
	}{
		{time.Second, time.Second, 0},
		{time.Second, time.Second + 1, 1},
		{0, time.Hour, 0},
	} {
		o := newTelemetry(t, otellock.SlowAfter(c.after))
		e := event(lock.Acquired, nil)
		e.Took = c.took
		o.Observe(t.Context(), e)
		got := o.series(t)["lock.contended_acquires {acquire}{lock.backend=postgresql lock.contention.reason=slow lock.mode=exclusive}"]
		if got != c.want {
			t.Errorf("SlowAfter(%v) counted %d for %v, want %d", c.after, got, c.took, c.want)
		}
	}
}

func TestMetricsHaveNoKeyUnlessALabelIsMadeOfIt(t *testing.T) {
	namespace := otellock.WithKeyLabel(func(k lock.Key) string {
		name, _, _ := strings.Cut(k.String(), "/")
		return name
	})
	for _, c := range []struct {
		name string
		opts []otellock.Option
		want string
	}{
		{"without a label", nil, "lock.renewals {renewal}{lock.backend=postgresql lock.outcome=renewed}"},
		{"with one", []otellock.Option{namespace}, "lock.renewals {renewal}{lock.backend=postgresql lock.key.label=shop lock.outcome=renewed}"},
		{"with an empty one", []otellock.Option{otellock.WithKeyLabel(func(lock.Key) string { return "" })},
			"lock.renewals {renewal}{lock.backend=postgresql lock.outcome=renewed}"},
	} {
		o := newTelemetry(t, c.opts...)
		o.Observe(t.Context(), event(lock.Renewed, nil))
		got := o.series(t)
		if got[c.want] != 1 {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
		for name := range got {
			if strings.Contains(name, "cart") {
				t.Errorf("%s: %s has the key", c.name, name)
			}
		}
	}
}

// A span of the test's table: what it must have.
type wantSpan struct {
	name   string
	lasted time.Duration
	status codes.Code
	attrs  string
}

func TestSpansAreMadeOfWhatTheEventsSay(t *testing.T) {
	keys := ` lock.keys=["shop/cart/7"]`
	grant := event(lock.Acquired, nil)
	grant.Took, grant.Queued = 3*time.Second, true
	loss, release, gone := event(lock.Lost, lock.ErrLost), event(lock.Released, nil), event(lock.Released, lock.ErrNotHeld)
	loss.Held, release.Held, gone.Held = time.Minute, time.Hour, time.Second
	for _, c := range []struct {
		name  string
		event lock.Event
		want  []wantSpan
	}{
		{"a grant", grant, []wantSpan{{"lock acquire", 3 * time.Second, codes.Unset,
			"{lock.backend=postgresql" + keys + " lock.mode=exclusive lock.outcome=acquired lock.queued=true}"}}},
		{"a busy lock", event(lock.Failed, lock.ErrNotAcquired), []wantSpan{{"lock acquire", time.Millisecond, codes.Unset,
			"{lock.backend=postgresql" + keys + " lock.mode=exclusive lock.outcome=busy lock.queued=false}"}}},
		{"a cancelled wait", event(lock.Failed, context.Canceled), []wantSpan{{"lock acquire", time.Millisecond, codes.Unset,
			"{error.type=canceled lock.backend=postgresql" + keys + " lock.mode=exclusive lock.outcome=error lock.queued=false}"}}},
		{"a timeout", event(lock.Failed, lock.ErrTimeout), []wantSpan{{"lock acquire", time.Millisecond, codes.Error,
			"{lock.backend=postgresql" + keys + " lock.mode=exclusive lock.outcome=timeout lock.queued=false}"}}},
		{"a failure", event(lock.Failed, lock.ErrPooler), []wantSpan{{"lock acquire", time.Millisecond, codes.Error,
			"{error.type=pooler lock.backend=postgresql" + keys + " lock.mode=exclusive lock.outcome=error lock.queued=false}"}}},
		{"a release", release, []wantSpan{{"lock hold", time.Hour, codes.Unset,
			"{lock.backend=postgresql lock.end=released" + keys + " lock.mode=exclusive}"}}},
		{"a loss", loss, []wantSpan{{"lock hold", time.Minute, codes.Error,
			"{lock.backend=postgresql lock.end=lost" + keys + " lock.mode=exclusive}"}}},
		{"a release of a lock that is gone", gone, []wantSpan{{"lock hold", time.Second, codes.Error,
			"{lock.backend=postgresql lock.end=not_held" + keys + " lock.mode=exclusive}"}}},
		{"the release after a loss", event(lock.Released, lock.ErrLost), nil},
		{"a renewal", event(lock.Renewed, nil), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newTelemetry(t)
			ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "request")
			o.Observe(ctx, c.event)
			var got []wantSpan
			for _, s := range o.spans.Ended() {
				got = append(got, wantSpan{s.Name(), s.EndTime().Sub(s.StartTime()), s.Status().Code, words(attribute.NewSet(s.Attributes()...))})
				if s.Parent().SpanID() != parent.SpanContext().SpanID() {
					t.Errorf("%s is not a child of the span in the event's context", s.Name())
				}
				if errs := len(s.Events()); (errs == 1) != (c.event.Err != nil) {
					t.Errorf("%s records %d errors of %v", s.Name(), errs, c.event.Err)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// The span of a hold ends where the release begins.
func TestTheHoldsSpanHasNotTheReleaseInIt(t *testing.T) {
	o := newTelemetry(t)
	e := event(lock.Released, nil)
	e.Took, e.Held = 10*time.Minute, time.Minute
	before := time.Now()
	o.Observe(t.Context(), e)
	s := o.spans.Ended()[0]
	if late := s.EndTime().Sub(before.Add(-e.Took)); late < 0 || late > time.Minute {
		t.Errorf("the span ends %v after the release began", late)
	}
}
