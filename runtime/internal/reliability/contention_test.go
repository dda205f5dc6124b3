package reliability_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

// TestContention is apart from the others, since it needs the processors.
func TestContention(t *testing.T) {
	watchGoroutines(t)
	each(t, all, map[string]func(*site){
		"40 goroutines in 3 processes never meet": func(s *site) { s.contend(3, 40, 2*time.Second, 0) },
		"nor when a process is killed":            func(s *site) { s.contend(3, 10, time.Second, 1) },
	})
}

// crowd lets few contend at a time: many processes on few processors would only wait for their turn there.
var crowd = make(chan struct{}, 2)

// contend has processes with goroutines, so many in all, contend for one key, and wants a clean record. Some
// of the processes are killed on the way.
func (s *site) contend(processes, goroutines int, length time.Duration, kills int) {
	crowd <- struct{}{}
	defer func() { <-crowd }()
	section, end, err := s.kind.section(s.source)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { end() })
	if err := section.Prepare(s.ctx()); err != nil {
		s.Fatal(err)
	}
	number := fmt.Sprint("contention ", made.Add(1), " of ", s.source)
	each := 2 * ((goroutines + 2*processes - 1) / (2 * processes)) // even, for two lockers
	workers := stress.Start(s, processes, "contend", s.name, s.source, number, strconv.Itoa(each), length.String())
	for _, p := range workers {
		if line := s.hear(p); line != "begins" {
			s.Fatalf("the worker says %q", line)
		}
	}
	if kills > 0 {
		time.Sleep(length / 2)
		for _, p := range workers[:kills] {
			p.Kill()
		}
	}
	visits := 0
	for _, p := range workers[kills:] {
		n, err := strconv.Atoi(s.hear(p))
		if err != nil {
			s.Fatal(err)
		}
		visits += n
		if err := p.Wait(s, length+patience); err != nil {
			s.Error(err)
		}
	}
	var killed []int
	for _, p := range workers[:kills] {
		killed = append(killed, p.Pid())
	}
	r, err := stress.Inspect(s.Context(), section, killed...)
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("%+v, %.0f visits a second", r, float64(r.Visits)/length.Seconds())
	if err := r.Err(); err != nil {
		s.Error(err)
	}
	if r.Open > kills || kills == 0 && r.Visits != visits || r.Visits == 0 {
		s.Errorf("%+v, want %d visits and at most %d open", r, visits, kills)
	}
	k := lock.NewKey("reliability", number)
	s.taken(s.locker(s.source, calm), k) // of one that was killed: when its lease ends
	s.wantFree(k)
}
