//go:build unix

// Package testserver starts real servers for tests: PostgreSQL, PgBouncer, MariaDB, Redis and etcd.
//
// Every server is private to the test binary: its data is in a temporary folder, it listens on a
// free loopback port, and no server that the machine already runs is touched. PostgreSQL and
// MariaDB, which are slow to start, run once in a test binary from their first use, and each call
// gives a new database in them. PgBouncer, Redis and etcd start in a moment, so each call gives a
// new server, which stops when the calling test ends; tests that use them may run in parallel.
//
// A server whose program is missing fails the test, with the command that installs it. It never
// skips: a suite that passes without its servers has shown nothing.
//
// A package's tests call [Main] from TestMain, so that the servers are gone before the test binary
// exits. Without Main, and when the binary panics, times out or is killed, they go just after it: a
// watching process (see watchdog.go) stops them and removes their folders as soon as the binary's
// end of a pipe is closed, which the kernel does however the binary ends.
package testserver

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// Main runs the tests, stops every server, removes their files, and exits with the tests' code.
// It does not return:
//
//	func TestMain(m *testing.M) { testserver.Main(m) }
func Main(m *testing.M) {
	os.Exit(run(m))
}

// run is apart from Main because os.Exit runs no deferred call, and a panic in m.Run must still
// stop the servers.
func run(m *testing.M) int {
	defer stopAll()
	return m.Run()
}

// freePorts returns n loopback ports that nobody listened on a moment ago. Another process may take
// one before the server does, which is why launch tries again with others.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("look for a free port: %w", err)
		}
		// Closed only on return, so that the ports differ from each other.
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// loopback is the TCP address of a port on this machine.
func loopback(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}
