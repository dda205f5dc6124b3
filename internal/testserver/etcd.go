//go:build unix

package testserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// Etcd returns the client URL of a new, empty etcd server, a cluster of one. It stops when the test
// ends. It grants no lease shorter than 2 s: one and a half election timeouts, rounded up.
func Etcd(tb testing.TB) string {
	tb.Helper()
	srv := launchFor(tb, etcdSpec)
	return "http://" + loopback(srv.ports[0])
}

var etcdSpec = spec{
	name:  "etcd",
	users: []string{"etcd"},
	ports: 2, // clients, peers
	stop:  syscall.SIGKILL,
	command: func(f folder, ports []int) ([]string, error) {
		bin, err := etcd.find()
		if err != nil {
			return nil, err
		}
		client, peer := "http://"+loopback(ports[0]), "http://"+loopback(ports[1])
		return []string{bin, "--name", "test", "--data-dir", f.join("data"),
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", "test=" + peer}, nil
	},
	probe: func(ports []int) error {
		// No connection stays behind: the test may count goroutines.
		client := http.Client{Timeout: wireTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get("http://" + loopback(ports[0]) + "/health")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Health string `json:"health"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		// Healthy means that a leader is elected and a read went through it.
		if answer.Health != "true" {
			return fmt.Errorf("health %q", answer.Health)
		}
		return nil
	},
}
