//go:build unix

package testserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// redisMasterName is what the sentinel calls the master that it watches.
const redisMasterName = "main"

// RedisSentinel returns the address of a new Redis Sentinel and the name of the master that it watches.
// The master is empty and has one replica, which is in step with it and becomes the master when the
// sentinel, alone, has not heard of the master for half a second. All three stop when the test ends.
func RedisSentinel(tb testing.TB) (sentinel, masterName string) {
	tb.Helper()
	master := launchFor(tb, redisSpec)
	replica := launchFor(tb, redisReplicaSpec(master.ports[0]))
	// A sentinel asks a replica how it is at once, and then not for ten seconds.
	if err := replica.proc.await(func() error { return redisInStep(replica.ports[0]) }); err != nil {
		tb.Fatalf("testserver: redis replica: %v", err)
	}
	watcher := launchFor(tb, redisSentinelSpec(master.ports[0]))
	err := watcher.proc.await(func() error { return redisReplicaReady(watcher.ports[0], replica.ports[0]) })
	if err != nil {
		tb.Fatalf("testserver: redis sentinel: %v", err)
	}
	return loopback(watcher.ports[0]), redisMasterName
}

func redisReplicaSpec(master int) spec {
	s := redisSpec
	s.name = "redis-replica"
	s.command = func(f folder, ports []int) ([]string, error) {
		argv, err := redisSpec.command(f, ports)
		// Without a disk and without the usual pause for more replicas, it is in step at once.
		return append(argv, "--replicaof", "127.0.0.1", strconv.Itoa(master), "--repl-diskless-load", "swapdb"), err
	}
	return s
}

func redisSentinelSpec(master int) spec {
	s := redisSpec
	s.name = "redis-sentinel"
	s.command = func(f folder, ports []int) ([]string, error) {
		bin, err := redisServer.find()
		if err != nil {
			return nil, err
		}
		// A sentinel writes what it learns into its configuration.
		config := f.join("sentinel.conf")
		text := fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1\n"+
			"sentinel down-after-milliseconds %[1]s 500\n"+
			"sentinel failover-timeout %[1]s 3000\n", redisMasterName, master)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if f.user != nil {
			if err := os.Chown(config, int(f.user.Uid), int(f.user.Gid)); err != nil {
				return nil, err
			}
		}
		return []string{bin, config, "--sentinel", "--bind", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--dir", f.path}, nil
	}
	return s
}

// redisInStep is nil when a replica has the data of its master.
func redisInStep(replica int) error {
	info, err := redisDo(replica, "INFO replication")
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = fmt.Errorf("no link to the master in: %q", info)
	}
	return err
}

// redisReplicaReady is nil when the sentinel knows the replica as one that could be the master.
func redisReplicaReady(sentinel, replica int) error {
	known, err := redisDo(sentinel, "SENTINEL REPLICAS "+redisMasterName)
	if err != nil {
		return err
	}
	fields := strings.Fields(known)
	value := func(name string) string {
		for i := 0; i+1 < len(fields); i++ {
			if fields[i] == name {
				return fields[i+1]
			}
		}
		return ""
	}
	if value("port") != strconv.Itoa(replica) || value("flags") != "slave" || value("master-link-status") != "ok" {
		return fmt.Errorf("replicas: %q", fields)
	}
	return nil
}
