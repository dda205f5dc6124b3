//go:build long

package reliability_test

import (
	"testing"
	"time"
)

// TestLongFaults is what TestFaults does at a few moments, at many.
func TestLongFaults(t *testing.T) {
	watchGoroutines(t)
	each(t, leases, map[string]func(*site){
		"leases do not overlap when the network goes silent": func(s *site) { s.silenceAfterRenewal(20) },
	})
	each(t, all, map[string]func(*site){
		"a reply to one who has given up leaves nothing": func(s *site) {
			for after := time.Duration(0); after < 120*time.Millisecond; after += 5 * time.Millisecond {
				s.part(after.String(), func(s *site) { s.loseReplyOfCancelled(after) })
			}
		},
		"locks of killed processes are not left": func(s *site) {
			for range 20 {
				s.part("holder", killedHolder)
				s.part("waiter", killedWaiter)
			}
		},
	})
}

// part is a test of its own on the same server: what it made is closed before the next.
func (s *site) part(name string, test func(*site)) {
	s.Run(name, func(t *testing.T) { test(&site{t, s.backend, s.source}) })
}
