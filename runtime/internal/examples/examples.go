// Package examples lends the servers of package testserver to Example functions, which have no
// testing.TB of their own.
package examples

import (
	"fmt"
	"testing"
)

// TB is the testing.TB of a package's examples:
//
//	var address = sync.OnceValue(func() string { return testserver.Redis(examples.TB{}) })
//
// Cleanups do not run: testserver.Main ends the servers. Other methods than those below are not
// there, and panic.
type TB struct{ testing.TB }

// Helper does nothing.
func (TB) Helper() {}

// Cleanup forgets what it is given.
func (TB) Cleanup(func()) {}

// Fatalf panics, which fails the test binary: an example can't fail in another way.
func (TB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Errorf is Fatalf.
func (TB) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
