package redislock_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// monitor gives every command that a server executes, those of scripts too, until stop is called.
func monitor(t *testing.T, address string) (stop func() []string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "MONITOR\r\n")
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	var seen []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.Contains(line, `"end of test"`) {
				return
			}
			seen = append(seen, strings.ToLower(line))
		}
	}()
	return func() []string {
		admin, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close()
		fmt.Fprint(admin, "PING \"end of test\"\r\n")
		select {
		case <-done:
		case <-time.After(soon):
			t.Fatal("the monitor heard no end")
		}
		return seen
	}
}

// use does everything that a Locker can, with contention.
func use(t *testing.T, l, other *redislock.Locker) {
	a, b := lock.NewKey("a"), lock.NewKey("b")
	var both sync.WaitGroup
	for _, one := range []*redislock.Locker{l, other} {
		both.Go(func() {
			for range 5 {
				err := one.DoAll(within(t, soon), []lock.Key{a, b}, func(ctx context.Context) error {
					time.Sleep(time.Millisecond)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := one.RunOnce(within(t, soon), a, time.Hour, func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	var renewals renewalCount
	h := acquire(t, l, lock.LiteralKey("literal"), lock.TTL(2*time.Second), lock.WithObserver(&renewals))
	eventually(t, "a renewal", func() bool { return renewals.Load() > 0 || h.Guard() != nil })
	h.Check(t.Context())
	h.Release(t.Context())
}

func TestEverySetOnTheWireHasAnExpiryAndNX(t *testing.T) {
	noLeaks(t)
	address := testserver.Redis(t)
	stop := monitor(t, address)
	use(t, locker(t, single(t, address), redislock.Fencing()), locker(t, single(t, address), redislock.Fencing()))
	var sets, renewals int
	for _, line := range stop() {
		_, command, _ := strings.Cut(line, `] "`)
		name, rest, _ := strings.Cut(command, `"`)
		switch {
		case strings.HasPrefix(name, "set") && name != "set":
			t.Errorf("not a plain SET: %s", line)
		case name == "set":
			sets++
			if !strings.Contains(rest, `"px"`) || !strings.Contains(rest, `"nx"`) {
				t.Errorf("without PX or NX: %s", line)
			}
		case name == "pexpire":
			renewals++
		case name == "persist", name == "getset", name == "append":
			t.Errorf("not expected: %s", line)
		}
	}
	if sets < 20 || renewals == 0 {
		t.Errorf("%d sets and %d renewals: the test saw too little", sets, renewals)
	}
}

func TestUncontendedAcquireAndReleaseAreOneRequestEach(t *testing.T) {
	noLeaks(t)
	address := testserver.Redis(t)
	l := locker(t, single(t, address), redislock.Fencing())
	key := lock.NewKey("trips")
	acquire(t, l, key).Release(t.Context()) // connects, and teaches the scripts
	stop := monitor(t, address)
	const cycles = 10
	for range cycles {
		if err := acquire(t, l, key).Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	requests := 0
	for _, line := range stop() {
		if !strings.Contains(line, " lua] ") {
			requests++
		}
	}
	if requests != 2*cycles {
		t.Errorf("%d requests for %d cycles, want 2 each", requests, cycles)
	}
}
