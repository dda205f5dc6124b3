package otellock_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/otellock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// newLocker makes a Locker on a Redis server of the test's own.
func newLocker(t *testing.T, o lock.Observer) (*redislock.Locker, *redis.Client) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: testserver.Redis(t)})
	locker, err := redislock.New(client, redislock.Defaults(lock.WithObserver(o)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(locker.Close(), client.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return locker, client
}

// find gives the spans of a name, in the order in which they ended.
func (o *telemetry) find(name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(o.spans.Ended(), func(s sdktrace.ReadOnlySpan) bool { return s.Name() != name })
}

const onRedis = "lock.backend=redis lock.mode=exclusive"

func TestARealLockIsTracedFromTheCallToTheRelease(t *testing.T) {
	o := newTelemetry(t)
	locker, _ := newLocker(t, o)
	ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "request")
	const work = 50 * time.Millisecond
	started := time.Now()
	err := locker.Do(ctx, lock.NewKey("shop", "cart", "7"), func(context.Context) error {
		if got := o.series(t)["lock.held {lock}{"+onRedis+"}"]; got != 1 {
			t.Errorf("%d locks are held inside, want 1", got)
		}
		time.Sleep(work)
		return nil
	})
	whole := time.Since(started)
	if err != nil {
		t.Fatal(err)
	}
	acquires, holds := o.find("lock acquire"), o.find("lock hold")
	if len(acquires) != 1 || len(holds) != 1 {
		t.Fatalf("%d spans of acquires and %d of holds, want 1 and 1", len(acquires), len(holds))
	}
	for _, s := range []sdktrace.ReadOnlySpan{acquires[0], holds[0]} {
		if s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is not a child of the request", s.Name())
		}
		if s.StartTime().Before(started) || s.EndTime().Sub(s.StartTime()) > whole {
			t.Errorf("%s lasts from %v to %v, but the call from %v and for %v", s.Name(), s.StartTime(), s.EndTime(), started, whole)
		}
	}
	if held := holds[0].EndTime().Sub(holds[0].StartTime()); held < work {
		t.Errorf("the hold's span lasts %v, less than the work with %v", held, work)
	}
	if sum := o.sum(t, "lock.hold.duration"); sum < work.Seconds() || sum > whole.Seconds() {
		t.Errorf("held for %v s by the metric, want between %v and %v", sum, work, whole)
	}
	if got := o.series(t)["lock.held {lock}{"+onRedis+"}"]; got != 0 {
		t.Errorf("%d locks are held afterwards", got)
	}
}

func TestContentionOfARealLockIsCounted(t *testing.T) {
	o := newTelemetry(t)
	locker, _ := newLocker(t, o)
	key := lock.NewKey("shop", "stock")
	h, err := locker.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locker.Acquire(t.Context(), key, lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Fatalf("try: %v", err)
	}
	if _, err := locker.Acquire(t.Context(), key, lock.Wait(10*time.Millisecond)); !errors.Is(err, lock.ErrTimeout) {
		t.Fatalf("wait: %v", err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := o.series(t)
	for name, want := range map[string]int64{
		"lock.acquire.duration s{" + onRedis + " lock.outcome=acquired}":                                          1,
		"lock.acquire.duration s{" + onRedis + " lock.outcome=busy}":                                              1,
		"lock.acquire.duration s{" + onRedis + " lock.outcome=timeout}":                                           1,
		"lock.contended_acquires {acquire}{lock.backend=redis lock.contention.reason=queued lock.mode=exclusive}": 2,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
}

func TestRenewalsAndTheLossOfARealLeaseAreCounted(t *testing.T) {
	o := newTelemetry(t)
	locker, client := newLocker(t, o)
	h, err := locker.Acquire(t.Context(), lock.LiteralKey("leader"), lock.TTL(3*time.Second)) // longer than a loaded machine stalls
	if err != nil {
		t.Fatal(err)
	}
	renewed := "lock.renewals {renewal}{lock.backend=redis lock.outcome=renewed}"
	deadline := time.Now().Add(20 * time.Second)
	for o.series(t)[renewed] == 0 && h.Guard() == nil {
		if time.Now().After(deadline) {
			t.Fatal("no renewal was counted")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := client.Del(t.Context(), "leader").Err(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Context().Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the loss was not noticed")
	}
	if err := h.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("release: %v, want ErrLost", err)
	}
	// Whoever noticed the loss tells of it, and of the release after it, beside the holder that it woke.
	for deadline = time.Now().Add(20 * time.Second); len(o.find("lock hold")) == 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	got := o.series(t)
	if got[renewed] == 0 {
		t.Error("no renewal was counted before the loss")
	}
	for name, want := range map[string]int64{
		"lock.losses {lock}{" + onRedis + "}":                                        1,
		"lock.held {lock}{" + onRedis + "}":                                          0,
		"lock.hold.duration s{lock.backend=redis lock.end=lost lock.mode=exclusive}": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
	if holds := o.find("lock hold"); len(holds) != 1 || !strings.Contains(holds[0].Status().Description, lock.ErrLost.Error()) {
		t.Errorf("spans of the hold: %d, want one that says %q", len(holds), lock.ErrLost)
	}
}

// globalVariable marks the process that sets the global providers.
const globalVariable = "OTELLOCK_TEST_GLOBAL"

// A program sets its providers up when it likes: also after it has made its Lockers. What came before passes
// on to the first ones alone, so that each run has a process of its own.
func TestWithoutOptionsTheGlobalProvidersAreUsed(t *testing.T) {
	if os.Getenv(globalVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), globalVariable+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	observer, err := otellock.New()
	if err != nil {
		t.Fatal(err)
	}
	o := &telemetry{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader)))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans)))
	observer.Observe(t.Context(), event(lock.Acquired, nil))
	if got := o.series(t)["lock.held {lock}{"+x+"}"]; got != 1 {
		t.Errorf("the global meter provider counted %d locks, want 1", got)
	}
	if n := len(o.spans.Ended()); n != 1 {
		t.Errorf("the global tracer provider got %d spans, want 1", n)
	}
}
