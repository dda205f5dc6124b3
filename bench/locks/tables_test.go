package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// some is results with a row of every kind.
func some() *Results {
	crowd := Row{Subject: 1, Contenders: 16, Hold: time.Millisecond, RoundsTaken: 3, Requests: 2.04, Figures: Figures{
		AcquireP50: 1500 * time.Microsecond, AcquireP99: 2 * time.Second, ReleaseP50: 45600 * time.Nanosecond,
		HandoffP50: 123456 * time.Nanosecond, HandoffP99: 300 * time.Microsecond, Cycles: 12345.6, Fairness: 0.987}}
	peer, many := crowd, crowd
	peer.Subject, peer.AtEnd = 2, Troubles{Violations: 3, Errors: 1, First: "a | b\nc"}
	many.Apart = true
	return &Results{
		Date: "2026-01-02", Machine: Machine{Urgent: true}, Servers: map[system]string{redisdb: "7.0"}, Settings: Settings{Duration: time.Second, Rounds: 3},
		Subjects: []Subject{
			{System: redisdb, Library: "raw", Variant: "two", Floor: true, Settings: "two requests"},
			{System: redisdb, Library: "redislock", Ours: true, Settings: "as it comes"},
			{System: redisdb, Library: "other", Variant: "tuned", Version: "v1.2.3", Settings: "faster"},
		},
		Comparison: []Comparison{{Subject: 1, Floor: 0, Took: 110 * time.Microsecond, Least: 100 * time.Microsecond, Ratio: 1.1, Goal: 1.15}},
		Rows: []Row{
			{Subject: 0, Contenders: 1, Figures: Figures{AcquireP50: 50 * time.Microsecond, Cycles: 9000, Mallocs: 4.5}},
			{Subject: 1, Contenders: 1, Figures: Figures{AcquireP50: 55 * time.Microsecond, Cycles: 8000}},
			peer, crowd, many,
		},
	}
}

func TestTablesHaveEveryRowUnderItsLoad(t *testing.T) {
	var b strings.Builder
	if err := tables(&b, some()); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"`cd bench/locks && chrt -r 1 go run . -duration 1s -rounds 3 -write ../../docs` on 2026-01-02", "at a real-time priority", "Redis 7.0", "median of 3 rounds of 1s",
		"| **redislock** | raw (two) | 110 µs | 100 µs | 1.10 | 1.15 |",
		"### Without contention", "| Redis | raw (two) | 50.0 µs |", "| Redis | **redislock** | 55.0 µs |",
		"### One process", "16 contenders, hold 1ms:",
		"| Redis | **redislock** | 123 µs | 300 µs | 1.50 ms | 2.00 s | 45.6 µs | – | 12,346 | 2.0 | 0.99 | 0 |",
		"| Redis | other (tuned) | 123 µs |",
		"### Many processes", "| Redis | **redislock** | 123 µs |",
		"| Redis | other (tuned) | v1.2.3 | faster |",
		`| other (tuned) | 16 contenders, hold 1ms, when the waits were cancelled | a \| b c | 3 | 1 |`,
	} {
		i := strings.Index(b.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q after %q in:\n%s", want, b.String()[:at], b.String())
		}
		at += i + len(want)
	}
}

func TestEveryLineOfATableHasTheSameCells(t *testing.T) {
	var b strings.Builder
	if err := tables(&b, some()); err != nil {
		t.Fatal(err)
	}
	cells := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 0 && n != cells {
			t.Errorf("%d bars where the line before has %d: %s", n, cells, line)
		}
		cells = n
	}
}

func TestWhatPeopleWroteStaysAroundTheTables(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, page)
	if err := os.WriteFile(path, []byte("before\n"+beginMark+"\nSTALE\n"+endMark+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := publish(some(), folder); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.HasPrefix(page, "before\n"+beginMark) || !strings.HasSuffix(page, endMark+"\nafter\n") ||
		strings.Contains(page, "STALE") || strings.Count(page, "### One process") != 1 {
		t.Errorf("the page:\n%s", page)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "locks.svg"))
	if err != nil || !strings.Contains(string(svg), "redislock") {
		t.Errorf("the plot: %v, %d bytes", err, len(svg))
	}
}

func TestAPageWithoutMarkersIsNotTouched(t *testing.T) {
	for _, old := range []string{"", "text", beginMark, endMark + beginMark} {
		if got, err := between(old, "made"); err == nil {
			t.Errorf("between(%q) = %q", old, got)
		}
	}
}

func TestOnlyOursEndsWithAnErrorWhenTwoWereInside(t *testing.T) {
	r := some()
	if err := r.verdict(); err != nil {
		t.Errorf("another library's: %v", err)
	}
	r.Rows[3].During.Violations = 1
	if err := r.verdict(); !errors.Is(err, errNotExclusive) {
		t.Errorf("ours: %v", err)
	}
}

func TestShortAndWhole(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "–", 999: "1.00 µs", 45678: "45.7 µs", 456789: "457 µs", 1234567: "1.23 ms", 2 * time.Second: "2.00 s", -1500: "-1.50 µs",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%d) = %q, want %q", d, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.54: "0.5", 9.94: "9.9", 10: "10", 999.4: "999", 1234: "1,234", 1234567: "1,234,567"} {
		if got := whole(x); got != want {
			t.Errorf("whole(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestResultsSurviveTheirFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := some().save(path); err != nil {
		t.Fatal(err)
	}
	again, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	var one, other strings.Builder
	if err := errors.Join(tables(&one, some()), tables(&other, again)); err != nil {
		t.Fatal(err)
	}
	if one.String() != other.String() {
		t.Errorf("tables differ:\n%s\n%s", one.String(), other.String())
	}
}

func TestUrgentIsARealTimePolicy(t *testing.T) {
	head := "12 (a name) with) R 1 " + strings.Repeat("0 ", 36)
	for text, want := range map[string]bool{
		head + "0 0": false, head + "1 0": true, head + "2 0": true, head + "5 0": false, "12 (short) R": false, "": false,
	} {
		path := filepath.Join(t.TempDir(), "stat")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := urgent(path); got != want {
			t.Errorf("urgent of %q: %v", text, got)
		}
	}
}
