package goroutines

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// trial is the testing.TB of a test that may fail.
type trial struct {
	testing.TB
	cleanups []func()
	errors   []any
}

func (f *trial) Helper()                {}
func (f *trial) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }
func (f *trial) Error(args ...any)      { f.errors = append(f.errors, args...) }

func TestVerifyWaitsForWhatEndsLaterThanGoleakWaits(t *testing.T) {
	f := &trial{}
	Verify(f)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { <-end; close(ended) }()
	time.AfterFunc(time.Second, func() { close(end) })
	f.cleanups[0]()
	select {
	case <-ended:
	default:
		t.Error("it did not wait for the goroutine")
	}
	if len(f.errors) > 0 {
		t.Errorf("failed with %v", f.errors)
	}
}

func TestWantGoneFailsForWhatStays(t *testing.T) {
	f, before := &trial{}, goleak.IgnoreCurrent()
	end := make(chan struct{})
	defer close(end)
	go func() { <-end }()
	WantGone(f, 0, before)
	if len(f.errors) != 1 || !strings.Contains(f.errors[0].(error).Error(), "TestWantGoneFailsForWhatStays") {
		t.Errorf("failed with %v, want an error that names the goroutine", f.errors)
	}
}
