package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of go test -json (go doc cmd/test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// tally counts results and prints a line for each package, and all that a failed test said.
type tally struct {
	out io.Writer

	passed, failed, skipped   int // tests, subtests too
	skippedTests, failedTests []string

	packages, failedPackages int
	untested                 int // packages without tests
	troubles                 int // modules in which go test failed

	said  map[string][]string // what a running test has printed, by package and test
	tests map[string]int      // ended tests of a package
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, said: map[string][]string{}, tests: map[string]int{}}
}

// read takes the events of one go test. A line that is no event is printed as it is: go test
// writes such lines when it cannot start.
func (t *tally) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				t.add(e)
			} else {
				t.out.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) add(e event) {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "output":
		t.said[key] = append(t.said[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e)
		} else {
			t.endTest(e)
		}
		delete(t.said, key)
	}
}

func (t *tally) endTest(e event) {
	name := e.Package + " " + e.Test
	t.tests[e.Package]++
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
		t.skippedTests = append(t.skippedTests, name)
	case "fail":
		t.failed++
		t.failedTests = append(t.failedTests, name)
		t.show(e.Package + "\x00" + e.Test)
	}
}

// endPackage says how a package fared. Of a failed one it prints what is left: what the package
// itself said, and the tests that were running when it panicked or ran out of time.
func (t *tally) endPackage(e event) {
	tests := t.tests[e.Package]
	switch {
	case e.Action == "fail":
		t.packages++
		t.failedPackages++
		for _, key := range slices.Sorted(maps.Keys(t.said)) {
			if strings.HasPrefix(key, e.Package+"\x00") {
				t.show(key)
				delete(t.said, key)
			}
		}
		fmt.Fprintf(t.out, "FAIL %s (%d tests, %.1fs)\n", e.Package, tests, e.Elapsed)
	case tests == 0:
		t.untested++
	default:
		t.packages++
		fmt.Fprintf(t.out, "ok   %s (%d tests, %.1fs)\n", e.Package, tests, e.Elapsed)
	}
}

func (t *tally) show(key string) {
	fmt.Fprint(t.out, strings.Join(t.said[key], ""))
}

// trouble notes that go test failed in a module: for a test, which has been told of, or for itself.
func (t *tally) trouble(dir string, err error) {
	t.troubles++
	fmt.Fprintf(t.out, "FAIL module in %s: %v\n", dir, err)
}

// bad reports whether anything failed, or nothing was tested.
func (t *tally) bad() bool {
	return t.failed > 0 || t.failedPackages > 0 || t.troubles > 0 || t.passed == 0
}

// printNames lists what is worth a look, below the packages and above the total.
func (t *tally) printNames() {
	for _, name := range t.skippedTests {
		fmt.Fprintf(t.out, "skipped: %s\n", name)
	}
	for _, name := range t.failedTests {
		fmt.Fprintf(t.out, "failed:  %s\n", name)
	}
}

// String is the total.
func (t *tally) String() string {
	return fmt.Sprintf("%d packages with tests (%d failed), %d without; %d tests passed, %d failed, %d skipped",
		t.packages, t.failedPackages, t.untested, t.passed, t.failed, t.skipped)
}
