package reliability_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

// What the other processes do. Their first arguments are a backend, a source and a key.
func init() {
	stress.Register("contend", contendWorker)
	stress.Register("hold", holdWorker)
	stress.Register("wait", waitWorker)
}

// opened is a worker's Locker and key.
func opened(w *stress.Worker, t times) (b backend, l *lock.Locker, end func(), k lock.Key, err error) {
	name, source := w.Arguments()[0], w.Arguments()[1]
	for _, b := range backends {
		if b.name == name {
			l, endPool, err := b.open(source, t)
			if err != nil {
				return b, nil, nil, k, err
			}
			return b, l, func() { _ = l.Close(); _ = endPool() }, lock.NewKey("reliability", w.Arguments()[2]), nil
		}
	}
	return b, nil, nil, k, fmt.Errorf("no backend %q", name)
}

// contendWorker has goroutines, of two lockers, that contend for the key: arguments are their number and
// for how long. It says when it begins, and how many visits to the section there were.
func contendWorker(w *stress.Worker) error {
	b, one, end, k, err := opened(w, calm)
	if err != nil {
		return err
	}
	defer end()
	_, other, endOther, _, err := opened(w, calm)
	if err != nil {
		return err
	}
	defer endOther()
	section, endSection, err := b.kind.section(w.Arguments()[1])
	if err != nil {
		return err
	}
	defer endSection()
	goroutines, err := strconv.Atoi(w.Arguments()[3])
	if err != nil {
		return err
	}
	length, err := time.ParseDuration(w.Arguments()[4])
	if err != nil {
		return err
	}
	for _, l := range []*lock.Locker{one, other} { // connects
		warm := lock.NewKey("reliability", fmt.Sprint("process ", os.Getpid()))
		if err := l.Do(context.Background(), warm, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	w.Say("begins")
	visits, err := contend(section, k, stress.Load{Goroutines: goroutines / 2, For: length}, one, other)
	w.Say("%d", visits)
	return err
}

// contend puts the load on each locker.
func contend(section stress.Section, k lock.Key, load stress.Load, lockers ...*lock.Locker) (visits int64, err error) {
	type result struct {
		visits int64
		err    error
	}
	results := make(chan result)
	for _, l := range lockers {
		go func() {
			visits, err := load.Run(context.Background(), section,
				func(ctx context.Context, fn func(context.Context) error) error { return l.Do(ctx, k, fn) })
			results <- result{visits, err}
		}()
	}
	for range lockers {
		r := <-results
		visits, err = visits+r.visits, errors.Join(err, r.err)
	}
	return visits, err
}

// holdWorker holds the key and says its token. When it was stopped for longer than the TTL, or hears of a
// loss, it says what Guard gave just then, and when it is told to, whether the store takes a write with its
// token. Told before, it releases.
func holdWorker(w *stress.Worker) error {
	b, l, end, k, err := opened(w, quick)
	if err != nil {
		return err
	}
	defer end()
	h, err := l.Acquire(context.Background(), k)
	if err != nil {
		return err
	}
	w.Say("%d", h.Token())
	told := make(chan struct{})
	go func() { _, _ = w.Hear(); close(told) }()
	for last := time.Now(); ; time.Sleep(time.Millisecond) {
		now := time.Now()
		if err = h.Guard(); err != nil || b.lease && now.Sub(last) > quick.ttl {
			break
		}
		last = now
		select {
		case <-told:
			w.Say("release: %v", h.Release(context.Background()))
			return nil
		default:
		}
	}
	w.Say("guard: %v", err)
	<-told
	accepted, storeErr := b.kind.store.put(w.Arguments()[1], h.Token())
	w.Say("accepted: %v, %v", accepted, storeErr)
	return nil
}

// waitWorker says that it is there, and waits for the key.
func waitWorker(w *stress.Worker) error {
	_, l, end, k, err := opened(w, quick)
	if err != nil {
		return err
	}
	defer end()
	w.Say("waiting")
	_, err = l.Acquire(context.Background(), k)
	return err
}
