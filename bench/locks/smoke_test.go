package main

import (
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// on starts the servers that all subjects need and gives a bench of them.
func on(t *testing.T) *bench {
	all := subjects()
	servers, err := startServers(t.Context(), t, systemsOf(all))
	if err != nil {
		t.Fatal(err)
	}
	for sys, version := range servers.version {
		if version == "" {
			t.Errorf("no version of %s", sys)
		}
	}
	return &bench{subjects: all, servers: servers, settings: Settings{Duration: 50 * time.Millisecond, Rounds: 1}, log: t.Output()}
}

// TestEverySubjectTakesAndReleases runs each row of the tables for a moment, so that it can't rot.
func TestEverySubjectTakesAndReleases(t *testing.T) {
	b := on(t)
	for i, s := range b.subjects {
		loads := []load{{contenders: 4}, {contenders: 4, apart: true}}
		if s.floor {
			loads = []load{alone}
		}
		for _, l := range loads {
			turn := turn{load: l, subject: i}
			o := b.untilTaken(t, turn)
			if o.total() == 0 {
				t.Errorf("%s: no lock was taken", s.name())
			}
			// What other libraries do wrong is for the tables to tell.
			if s.ours && (o.during != troubles{} || o.atEnd != troubles{}) {
				t.Errorf("%s: %+v, at the end %+v", s.name(), o.during, o.atEnd)
			}
		}
	}
}

// untilTaken measures for a moment, and longer on a machine so busy that no lock is taken in it. Another library
// may have bounds of its own that such a machine does not keep, as of 100 ms for a statement, and is tried again.
func (b bench) untilTaken(t *testing.T, turn turn) outcome {
	t.Helper()
	ours := b.subjects[turn.subject].ours
	for start := time.Now(); ; {
		o, err := b.measure(t.Context(), turn, false)
		late := time.Since(start) > 30*time.Second
		switch {
		case err != nil && (ours || late):
			t.Fatal(err)
		case err != nil:
			t.Logf("tried again: %v", err)
		default:
			b.tell("", turn, o)
			if o.total() > 0 || late {
				return o
			}
			b.settings.Duration *= 2
		}
	}
}

// TestOursAskTheServerOnceToTakeAndOnceToRelease counts what goes over the wire.
func TestOursAskTheServerOnceToTakeAndOnceToRelease(t *testing.T) {
	b := on(t)
	for _, s := range b.subjects {
		if !s.ours && !s.floor {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			relay, through, err := counted(s.system, b.servers.at[s.system])
			if err != nil {
				t.Fatal(err)
			}
			defer relay.close()
			contenders, closeAll, err := assemble(t.Context(), s, through, b.key(), alone)
			defer closeAll()
			if err != nil {
				t.Fatal(err)
			}
			cycles := func(n int) {
				for range n {
					if err := contenders[0].cycle(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			cycles(5)                         // connect, prepare statements, load scripts
			time.Sleep(20 * time.Millisecond) // a request is counted after it was passed on
			// One of several: a machine that stands still for a second gets heartbeats, too, and counts late.
			const n = 20
			var got int64
			for range 20 {
				before := relay.count.Load()
				cycles(n)
				count := func() bool { got = relay.count.Load() - before; return got >= 2*n }
				for end := time.Now().Add(time.Second); !count() && time.Now().Before(end); time.Sleep(time.Millisecond) {
				}
				time.Sleep(20 * time.Millisecond) // for more than there should be
				if count(); got == 2*n {
					return
				}
			}
			t.Errorf("%d requests for %d cycles, want %d", got, n, 2*n)
		})
	}
}

// TestMeasureAllMakesEveryTableAndThePlot goes the way of the command, on the fewest subjects.
func TestMeasureAllMakesEveryTableAndThePlot(t *testing.T) {
	b := on(t)
	var err error
	if b.subjects, err = chosen([]string{string(redisdb)}, []string{"raw", "redislock"}); err != nil {
		t.Fatal(err)
	}
	b.settings.Contenders, b.settings.Holds = []int{2}, []time.Duration{0}
	b.settings.Duration = 200 * time.Millisecond // in which a busy machine takes some locks, too
	r, err := b.measureAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, s := range b.subjects {
		if s.ours {
			ours++
		}
	}
	if floors := 2; len(r.Comparison) != ours*floors {
		t.Errorf("%d comparisons of %d subjects with %d floors", len(r.Comparison), ours, floors)
	}
	for i, c := range r.Comparison {
		if c.Ratio <= 0 || c.Took <= 0 || c.Least <= 0 || c.Goal < 0 {
			t.Errorf("comparison %d: %+v", i, c)
		}
	}
	for _, row := range r.Rows {
		s := b.subjects[row.Subject]
		if row.AcquireP50 <= 0 || row.Cycles <= 0 || row.Requests < 1 || row.Fairness <= 0 || row.Fairness > 1 ||
			row.Contenders > 1 && row.HandoffP50 <= 0 || row.Mallocs <= 0 || row.RoundsTaken != 1 {
			t.Errorf("%s: %+v", s.name(), row)
		}
	}
	if want := 3 * len(b.subjects); len(r.Rows) != want-2*2 { // alone, one process, many processes; floors alone only
		t.Errorf("%d rows", len(r.Rows))
	}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
}

func TestChosenAreOfTheSystemsAndWordsGiven(t *testing.T) {
	all, err := chosen(nil, nil)
	if err != nil || len(all) != len(subjects()) {
		t.Errorf("without a choice: %d, %v", len(all), err)
	}
	some, err := chosen([]string{"Redis", "MariaDB"}, []string{"lock"})
	if err != nil || len(some) == 0 {
		t.Fatalf("%d, %v", len(some), err)
	}
	for _, s := range some {
		if s.system == postgresql {
			t.Errorf("%s is not of the systems", s.name())
		}
	}
	if _, err := chosen([]string{"Oracle"}, nil); err == nil {
		t.Error("no error for a system that nothing is for")
	}
}

// TestEverySubjectSaysWhatItIs keeps the tables' text complete.
func TestEverySubjectSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for i, s := range described(subjects()) {
		id := string(s.System) + " " + s.name()
		switch {
		case seen[id]:
			t.Errorf("two rows are called %s", id)
		case s.Settings == "":
			t.Errorf("%s: no settings", id)
		case subjects()[i].goals != nil && !s.Ours:
			t.Errorf("%s: a goal for what is not ours", id)
		}
		seen[id] = true
	}
}
