package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// local is a subject without server: take is its acquire.
func local(take func(ctx context.Context) (release, error)) subject {
	return subject{library: "local", open: func(context.Context, address, string) (client, error) {
		return client{contender: same(take), close: func() {}}, nil
	}}
}

// mutex is a lock that is right.
func mutex() subject {
	turn := make(chan struct{}, 1)
	return local(func(ctx context.Context) (release, error) {
		select {
		case turn <- struct{}{}:
			return func(context.Context) error { <-turn; return nil }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// longEnough measures for a short time, and for longer ones until enough is seen: a loaded machine may let nothing
// happen in a short one.
func longEnough(t *testing.T, makeSubject func() subject, l load, enough func(outcome) bool) outcome {
	t.Helper()
	for lasts := 30 * time.Millisecond; ; lasts *= 4 {
		o, err := measure(t.Context(), makeSubject(), "", "key", l, lasts, nil)
		if err != nil {
			t.Fatal(err)
		}
		if enough(o) || lasts > 10*time.Second {
			return o
		}
	}
}

func TestALockThatIsRightHasNoTroubles(t *testing.T) {
	o := longEnough(t, mutex, load{contenders: 4, hold: 100 * time.Microsecond}, func(o outcome) bool { return len(o.handoff) > 0 })
	if o.during != (troubles{}) || o.atEnd != (troubles{}) {
		t.Errorf("troubles: %+v, %+v", o.during, o.atEnd)
	}
	if o.total() == 0 || len(o.grants) != 4 || len(o.handoff) == 0 || len(o.release) != o.total() {
		t.Errorf("%d grants of %d contenders, %d hand-offs, %d releases", o.total(), len(o.grants), len(o.handoff), len(o.release))
	}
	if !slices.IsSorted(o.acquire) || !slices.IsSorted(o.handoff) || o.handoff[0] < 0 {
		t.Errorf("times out of order, or below zero")
	}
}

func TestTwoInsideAtOnceAreSeen(t *testing.T) {
	free := func(context.Context) error { return nil }
	none := func() subject { return local(func(context.Context) (release, error) { return free, nil }) }
	r := &run{}
	if r.enter(); r.during.violations != 0 {
		t.Error("the first is a violation")
	}
	if r.enter(); r.during.violations != 1 {
		t.Errorf("two inside: %d violations", r.during.violations)
	}
	if raced {
		return // a lock that excludes nobody is a data race of the holders' count, as it should be
	}
	o := longEnough(t, none, load{contenders: 4, hold: time.Millisecond}, func(o outcome) bool { return o.during.violations > 0 })
	if o.during.violations == 0 || !errors.Is(o.during.first, errNotExclusive) {
		t.Errorf("troubles: %+v", o.during)
	}
}

func TestAStarvingContenderCountsInTheWaitAndTheFairness(t *testing.T) {
	var calls atomic.Int64
	var mu sync.Mutex
	var told time.Time // when the first of them knew that the measurement had ended
	greedy := local(func(ctx context.Context) (release, error) {
		if calls.Add(1) <= 4 { // the first lock of each
			return func(context.Context) error { return nil }, nil
		}
		<-ctx.Done()
		mu.Lock()
		if told.IsZero() {
			told = time.Now()
		}
		mu.Unlock()
		time.Sleep(300 * time.Millisecond) // giving up is not waiting
		return nil, ctx.Err()
	})
	const lasts = 50 * time.Millisecond
	start := time.Now()
	o, err := measure(t.Context(), greedy, "", "key", load{contenders: 4}, lasts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.acquire) != 4 || o.acquire[0] < lasts || o.acquire[3] > told.Sub(start) {
		t.Errorf("waits: %v, want four of at least %v and at most %v", o.acquire, lasts, told.Sub(start))
	}
	if f := o.figures(); f.Fairness != 0 || f.Cycles != 0 || f.AcquireP99 < lasts {
		t.Errorf("figures: %+v", f)
	}
}

// after is a subject that is right for the first lock of one contender, and then does as take does.
func after(take func(ctx context.Context) (release, error)) subject {
	var calls atomic.Int64
	return local(func(ctx context.Context) (release, error) {
		if calls.Add(1) == 1 {
			return func(context.Context) error { return nil }, nil
		}
		return take(ctx)
	})
}

func TestErrorsAreToldApartByWhenTheyHappened(t *testing.T) {
	boom, late := errors.New("boom"), errors.New("late")
	fails := func() subject { return after(func(context.Context) (release, error) { return nil, boom }) }
	o := longEnough(t, fails, alone, func(o outcome) bool { return o.during.errors > 0 })
	if o.during.errors == 0 || !errors.Is(o.during.first, boom) || o.atEnd.errors != 0 {
		t.Errorf("troubles: %+v, %+v", o.during, o.atEnd)
	}
	failsAtEnd := func() subject {
		return after(func(ctx context.Context) (release, error) {
			<-ctx.Done()
			return func(context.Context) error { return late }, nil
		})
	}
	o = longEnough(t, failsAtEnd, alone, func(o outcome) bool { return o.atEnd.errors > 0 })
	if o.during.errors != 0 || o.atEnd.errors != 1 || !errors.Is(o.atEnd.first, late) {
		t.Errorf("troubles: %+v, %+v", o.during, o.atEnd)
	}
}

func TestALibraryThatCannotLockIsNotMeasured(t *testing.T) {
	boom := errors.New("boom")
	s := local(func(context.Context) (release, error) { return nil, boom })
	if _, err := measure(t.Context(), s, "", "key", alone, time.Millisecond, nil); !errors.Is(err, boom) {
		t.Errorf("error: %v", err)
	}
}

func TestApartMakesAClientForEachContender(t *testing.T) {
	for _, apart := range []bool{false, true} {
		opened, closed := 0, 0
		s := subject{library: "counted", open: func(context.Context, address, string) (client, error) {
			opened++
			return client{contender: same(nil), close: func() { closed++ }}, nil
		}}
		contenders, closeAll, err := assemble(t.Context(), s, "", "key", load{contenders: 3, apart: apart})
		if err != nil {
			t.Fatal(err)
		}
		closeAll()
		want := 1
		if apart {
			want = 3
		}
		if len(contenders) != 3 || opened != want || closed != want {
			t.Errorf("apart %v: %d contenders, %d opened, %d closed", apart, len(contenders), opened, closed)
		}
	}
}
