package reliability_test

import "testing"

// TestFaults is all that breaks something. What it does is mostly to wait, so that all of it runs at once.
func TestFaults(t *testing.T) {
	watchGoroutines(t)
	onKilledServers(t)
	each(t, all, network)
	each(t, leases, networkOfLeases)
	each(t, all, lostReplies)
	each(t, all, processes)
	each(t, leases, processesWithLeases)
	each(t, sessions, processesWithSessions)
}
