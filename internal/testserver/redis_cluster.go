//go:build unix

package testserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	redisMasters = 3
	redisSlots   = 16384
)

// RedisCluster returns the addresses of a new, empty Redis Cluster of three masters without replicas.
// Every slot has its master, and every master knows that the cluster is well. It stops when the test
// ends.
func RedisCluster(tb testing.TB) []string {
	tb.Helper()
	var nodes []*server
	for range redisMasters {
		nodes = append(nodes, launchFor(tb, redisNodeSpec))
	}
	if err := joinRedisCluster(nodes); err != nil {
		tb.Fatalf("testserver: redis cluster: %v", err)
	}
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, loopback(node.ports[0]))
	}
	return addresses
}

var redisNodeSpec = spec{
	name:  "redis-node",
	users: []string{"redis"},
	ports: 2, // clients, other nodes: the latter's default is beyond the highest port for some of the former
	stop:  syscall.SIGKILL,
	command: func(f folder, ports []int) ([]string, error) {
		argv, err := redisSpec.command(f, ports)
		return append(argv, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(ports[1]),
			// Nodes share few cores with other tests: a slow one is not a dead one.
			"--cluster-node-timeout", "15000"), err
	},
	probe: redisSpec.probe,
}

// joinRedisCluster makes one cluster of nodes that know nothing, and waits until each knows it.
func joinRedisCluster(nodes []*server) error {
	for i, node := range nodes {
		// Ranges as equal as can be. Epochs that differ from the start spare the nodes finding out.
		first, last := i*redisSlots/len(nodes), (i+1)*redisSlots/len(nodes)-1
		for _, command := range []string{
			fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", first, last),
			fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1),
		} {
			if _, err := redisDo(node.ports[0], command); err != nil {
				return err
			}
		}
	}
	for i, node := range nodes {
		for _, other := range nodes[i+1:] { // all of them, so that none has to hear of one from another
			meet := fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d %d", other.ports[0], other.ports[1])
			if _, err := redisDo(node.ports[0], meet); err != nil {
				return err
			}
		}
	}
	for _, node := range nodes {
		if err := node.proc.await(func() error { return redisClusterReady(node, len(nodes)) }); err != nil {
			return err
		}
	}
	return nil
}

// redisClusterReady is nil when a node knows that the cluster is whole.
func redisClusterReady(node *server, size int) error {
	info, err := redisDo(node.ports[0], "CLUSTER INFO")
	if err != nil {
		return err
	}
	lines := strings.Split(info, "\r\n")
	for _, line := range []string{"cluster_state:ok", fmt.Sprintf("cluster_size:%d", size), fmt.Sprintf("cluster_slots_ok:%d", redisSlots)} {
		if !slices.Contains(lines, line) {
			// The nodes tell each other once a second: asking all the time makes it no quicker.
			time.Sleep(20 * time.Millisecond)
			return fmt.Errorf("not %s in: %s", line, strings.Join(lines, ", "))
		}
	}
	return nil
}
