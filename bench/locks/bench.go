package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// A bench measures subjects on servers.
type bench struct {
	subjects []subject
	servers  *servers
	settings Settings
	log      io.Writer // what goes on, for whoever waits
	keys     int       // used
}

// measureAll makes all measurements.
func (b *bench) measureAll(ctx context.Context) (*Results, error) {
	r := &Results{
		Date: time.Now().UTC().Format(time.DateOnly), Machine: thisMachine(), Servers: b.servers.version,
		Settings: b.settings, Subjects: described(b.subjects),
	}
	var err error
	if r.Comparison, err = b.compareAll(ctx); err != nil {
		return nil, err
	}
	loads := append([]load{alone}, crowds(b.settings.Contenders, b.settings.Holds)...)
	turns := interleaved(b.settings.Rounds, loads, len(b.subjects), b.applies)
	type cell struct {
		subject int
		load    load
	}
	timed := map[cell][]outcome{}
	for i, t := range turns {
		o, err := b.measure(ctx, t, false)
		if err != nil {
			return nil, err
		}
		b.tell(fmt.Sprintf("%d/%d", i+1, len(turns)), t, o)
		timed[cell{t.subject, t.load}] = append(timed[cell{t.subject, t.load}], o)
	}
	for _, t := range interleaved(1, loads, len(b.subjects), b.applies) {
		o, err := b.measure(ctx, t, true)
		if err != nil {
			return nil, err
		}
		b.tell("requests", t, o)
		r.Rows = append(r.Rows, row(t.subject, t.load, timed[cell{t.subject, t.load}], o))
	}
	return r, nil
}

// applies tells which subjects a load is for: what takes no lock has no contention.
func (b *bench) applies(l load, subject int) bool { return l == alone || !b.subjects[subject].floor }

// measure takes one turn. A counting one goes through a relay, which makes it slower: its times are
// not for the tables.
func (b *bench) measure(ctx context.Context, t turn, counting bool) (outcome, error) {
	s := b.subjects[t.subject]
	at := b.servers.at[s.system]
	if err := settle(ctx, s.system, at); err != nil {
		return outcome{}, fmt.Errorf("before %s: %w", s.name(), err)
	}
	var sent func() int64
	if counting {
		relay, through, err := counted(s.system, at)
		if err != nil {
			return outcome{}, err
		}
		defer relay.close()
		at, sent = through, relay.count.Load
	}
	return measure(ctx, s, at, b.key(), t.load, b.settings.Duration, sent)
}

// key is a lock that nobody used before, so that nothing left of one measurement meets the next.
func (b *bench) key() string {
	b.keys++
	return fmt.Sprintf("bench-%d", b.keys)
}

// compareAll compares every lock with the floors of its system.
func (b *bench) compareAll(ctx context.Context) ([]Comparison, error) {
	var all []Comparison
	for i, s := range b.subjects {
		for j, floor := range b.subjects {
			if !s.ours || !floor.floor || floor.system != s.system {
				continue
			}
			c, err := b.compare(ctx, i, j)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(b.log, "%s against %s: %.2f\n", s.name(), floor.name(), c.Ratio)
			all = append(all, c)
		}
	}
	return all, nil
}

// slice is how many cycles one side of a comparison has before the other does: few, so that both meet
// the same machine, whatever else it does.
const slice = 16

// compare runs a lock and its floor by turns on clients that stay open.
func (b *bench) compare(ctx context.Context, one, other int) (Comparison, error) {
	c := Comparison{Subject: one, Floor: other, Goal: b.subjects[one].goals[b.subjects[other].variant]}
	var sides [2]acquire
	for i, index := range []int{one, other} {
		s := b.subjects[index]
		take, closeAll, err := assemble(ctx, s, b.servers.at[s.system], b.key(), alone)
		defer closeAll()
		if err != nil {
			return c, fmt.Errorf("%s: %w", s.name(), err)
		}
		sides[i] = take[0]
	}
	var ratios []float64
	var took [2][]time.Duration
	for range b.settings.Rounds {
		var cycles [2][]time.Duration
		for end := time.Now().Add(b.settings.Duration); time.Now().Before(end); {
			for i, take := range sides {
				var err error
				if cycles[i], err = timedSlice(ctx, take, cycles[i]); err != nil {
					return c, fmt.Errorf("%s: %w", b.subjects[[2]int{one, other}[i]].name(), err)
				}
			}
		}
		var middle [2]time.Duration
		for i := range cycles {
			middle[i] = median(cycles[i])
			took[i] = append(took[i], middle[i])
		}
		ratios = append(ratios, float64(middle[0])/float64(middle[1]))
	}
	c.Took, c.Least, c.Ratio = median(took[0]), median(took[1]), median(ratios)
	return c, nil
}

// timedSlice takes and releases a slice of times and appends how long each took.
func timedSlice(ctx context.Context, take acquire, times []time.Duration) ([]time.Duration, error) {
	for range slice {
		start := time.Now()
		if err := take.cycle(ctx); err != nil {
			return times, err
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

// tell says what one measurement found.
func (b *bench) tell(what string, t turn, o outcome) {
	f := o.figures()
	clients := "one client"
	if t.load.apart {
		clients = "a client each"
	}
	fmt.Fprintf(b.log, "%-9s %-34s %2d contenders, %s, hold %v: %.0f/s, hand-off %s / %s, fairness %.2f",
		what, b.subjects[t.subject].name(), t.load.contenders, clients, t.load.hold, f.Cycles,
		short(f.HandoffP50), short(f.HandoffP99), f.Fairness)
	if o.requests > 0 {
		fmt.Fprintf(b.log, ", %.2f requests a cycle", o.per(float64(o.requests)))
	}
	for when, t := range map[string]troubles{"": o.during, " at the end": o.atEnd} {
		if t.errors+t.violations > 0 {
			fmt.Fprintf(b.log, ", %d ERRORS, NOT EXCLUSIVE %d times%s: %q", t.errors, t.violations, when, t.first)
		}
	}
	fmt.Fprintln(b.log)
}

// systemsOf are the systems of subjects, each once, in order.
func systemsOf(subjects []subject) []system {
	var of []system
	for _, s := range subjects {
		if !slices.Contains(of, s.system) {
			of = append(of, s.system)
		}
	}
	return of
}
