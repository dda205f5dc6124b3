//go:build unix

package testserver

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
)

// Redis returns the address, host and port, of a new, empty Redis server. It stops when the test
// ends. Two calls give two independent servers.
func Redis(tb testing.TB) string {
	tb.Helper()
	srv := launchFor(tb, redisSpec)
	return loopback(srv.ports[0])
}

var redisSpec = spec{
	name:  "redis",
	users: []string{"redis"},
	ports: 1,
	stop:  syscall.SIGKILL,
	command: func(f folder, ports []int) ([]string, error) {
		bin, err := redisServer.find()
		if err != nil {
			return nil, err
		}
		return []string{bin, "--bind", "127.0.0.1", "--port", strconv.Itoa(ports[0]),
			"--dir", f.path, "--save", "", "--appendonly", "no"}, nil
	},
	probe: func(ports []int) error {
		answer, err := redisDo(ports[0], "PING")
		if err == nil && answer != "PONG" {
			err = fmt.Errorf("answer to PING: %q", answer)
		}
		return err
	},
}
