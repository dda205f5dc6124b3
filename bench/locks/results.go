package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Results are all that a run of this command measured, and on what. The file of -out has them as JSON,
// of which -from makes tables and plot again.
type Results struct {
	Date       string
	Machine    Machine
	Servers    map[system]string // version
	Settings   Settings
	Subjects   []Subject
	Comparison []Comparison
	Rows       []Row
}

// Settings are what the command was asked for.
type Settings struct {
	Contenders []int
	Holds      []time.Duration
	Duration   time.Duration // of one measurement
	Rounds     int
}

// Machine is where it ran.
type Machine struct {
	System string // operating system and architecture
	Cores  int
	Model  string // of the processor
	Load   string // average of the last minute, before the run
	Urgent bool   // at a real-time priority: other programs had to wait
	Go     string
}

// Subject is what is kept of a subject.
type Subject struct {
	System                              system
	Library, Variant, Settings, Version string
	Ours, Floor                         bool
}

// Row is one subject under one load.
type Row struct {
	Subject    int // index
	Contenders int
	Hold       time.Duration
	Apart      bool

	Figures             // medians of the rounds
	Requests    float64 // a cycle, counted in a round of its own
	During      Troubles
	AtEnd       Troubles // when those who waited were cancelled
	RoundsTaken int
}

// Troubles are what must not happen, of all rounds.
type Troubles struct {
	Violations, Errors int64
	First              string
}

func (t troubles) kept() Troubles {
	k := Troubles{Violations: t.violations, Errors: t.errors}
	if t.first != nil {
		k.First = t.first.Error()
	}
	return k
}

// Figures are what one measurement comes to.
type Figures struct {
	AcquireP50, AcquireP99 time.Duration
	ReleaseP50, ReleaseP99 time.Duration
	HandoffP50, HandoffP99 time.Duration
	Cycles                 float64 // a second
	Fairness               float64 // Jain's index
	Mallocs, Bytes         float64 // a cycle
}

// Comparison is what a lock takes as a multiple of what its floor takes, without contention.
type Comparison struct {
	Subject, Floor int           // indexes
	Took, Least    time.Duration // medians of the cycle
	Ratio          float64       // median of the rounds' ratios
	Goal           float64       // 0: none
}

func (r Row) load() load { return load{contenders: r.Contenders, hold: r.Hold, apart: r.Apart} }

// figures sums up one measurement.
func (o outcome) figures() Figures {
	return Figures{
		AcquireP50: percentile(o.acquire, 0.5), AcquireP99: percentile(o.acquire, 0.99),
		ReleaseP50: percentile(o.release, 0.5), ReleaseP99: percentile(o.release, 0.99),
		HandoffP50: percentile(o.handoff, 0.5), HandoffP99: percentile(o.handoff, 0.99),
		Cycles:   float64(o.total()) / o.elapsed.Seconds(),
		Fairness: jain(o.grants),
		Mallocs:  o.per(float64(o.mallocs)), Bytes: o.per(float64(o.bytes)),
	}
}

// middle is the median of each figure.
func middle(rounds []Figures) Figures {
	return Figures{
		AcquireP50: medianOf(rounds, func(f Figures) time.Duration { return f.AcquireP50 }),
		AcquireP99: medianOf(rounds, func(f Figures) time.Duration { return f.AcquireP99 }),
		ReleaseP50: medianOf(rounds, func(f Figures) time.Duration { return f.ReleaseP50 }),
		ReleaseP99: medianOf(rounds, func(f Figures) time.Duration { return f.ReleaseP99 }),
		HandoffP50: medianOf(rounds, func(f Figures) time.Duration { return f.HandoffP50 }),
		HandoffP99: medianOf(rounds, func(f Figures) time.Duration { return f.HandoffP99 }),
		Cycles:     medianOf(rounds, func(f Figures) float64 { return f.Cycles }),
		Fairness:   medianOf(rounds, func(f Figures) float64 { return f.Fairness }),
		Mallocs:    medianOf(rounds, func(f Figures) float64 { return f.Mallocs }),
		Bytes:      medianOf(rounds, func(f Figures) float64 { return f.Bytes }),
	}
}

// row sums up the rounds of one subject under one load, and the one that counted requests.
func row(index int, l load, rounds []outcome, counting outcome) Row {
	r := Row{Subject: index, Contenders: l.contenders, Hold: l.hold, Apart: l.apart, RoundsTaken: len(rounds)}
	figures := make([]Figures, len(rounds))
	for i, o := range rounds {
		figures[i] = o.figures()
	}
	r.Figures = middle(figures)
	r.Requests = counting.per(float64(counting.requests))
	during, atEnd := counting.during, counting.atEnd
	for _, o := range rounds {
		during, atEnd = during.add(o.during), atEnd.add(o.atEnd)
	}
	r.During, r.AtEnd = during.kept(), atEnd.kept()
	return r
}

// thisMachine is what the operating system tells.
func thisMachine() Machine {
	return Machine{
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		Model: procField("/proc/cpuinfo", "model name"), Load: firstWord("/proc/loadavg"),
		Urgent: urgent("/proc/self/stat"),
	}
}

// urgent reports whether a process has a real-time scheduling policy: SCHED_FIFO or SCHED_RR, field 41 of
// its file (proc_pid_stat(5)). The second field, in parentheses, may have spaces.
func urgent(path string) bool {
	text, _ := os.ReadFile(path)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const policy = 41 - 3
	return len(fields) > policy && (fields[policy] == "1" || fields[policy] == "2")
}

// procField is the value of a "name : value" line of one of the kernel's files; empty without one.
func procField(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstWord(path string) string {
	text, _ := os.ReadFile(path)
	word, _, _ := strings.Cut(string(text), " ")
	return word
}

// versions are those of the modules that this program is made of.
func versions() map[string]string {
	known := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			known[m.Path] = m.Version
		}
	}
	return known
}

// described is what is kept of the subjects.
func described(all []subject) []Subject {
	known := versions()
	kept := make([]Subject, len(all))
	for i, s := range all {
		kept[i] = Subject{System: s.system, Library: s.library, Variant: s.variant, Settings: s.settings,
			Version: strings.TrimSpace(s.module + " " + known[s.module]), Ours: s.ours, Floor: s.floor}
	}
	return kept
}

func (s Subject) name() string { return subject{library: s.Library, variant: s.Variant}.name() }

func (r *Results) save(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func readResults(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Results{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
