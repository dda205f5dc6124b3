//go:build unix

package testserver

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Server is a server of one test's own that it can kill and start again. It stops when the test ends.
type Server struct {
	tb     testing.TB
	spec   spec
	source string
	server *server
}

// PostgresServer starts a PostgreSQL server with settings of postgresql.conf, such as
// "max_connections=20". What was committed outlives Kill.
func PostgresServer(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := postgresSpec
	s.command = func(f folder, ports []int) ([]string, error) {
		argv, err := postgresSpec.command(f, ports)
		for _, setting := range append([]string{"synchronous_commit=on"}, settings...) {
			argv = append(argv, "-c", setting) // the last one counts
		}
		return argv, err
	}
	srv := control(tb, s)
	srv.source = postgresURL(srv.server.ports[0], "postgres")
	return srv
}

// MariaDBServer starts a MariaDB server. What was committed outlives Kill.
func MariaDBServer(tb testing.TB) *Server {
	tb.Helper()
	s := mariadbSpec
	s.command = func(f folder, ports []int) ([]string, error) {
		argv, err := mariadbSpec.command(f, ports)
		return append(argv, "--innodb-flush-log-at-trx-commit=2"), err
	}
	srv := control(tb, s)
	const schema = "test"
	if err := mariadbExec(srv.server.ports[0], "CREATE DATABASE "+schema); err != nil {
		tb.Fatalf("testserver: create schema %s: %v", schema, err)
	}
	srv.source = fmt.Sprintf("%s@tcp(%s)/%s", mariadbUser, srv.Addr(), schema)
	return srv
}

// RedisServer starts a Redis server with settings of redis.conf, such as "maxmemory-policy noeviction".
// It has no data after Kill, unless a setting is "appendonly yes".
func RedisServer(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := redisSpec
	s.command = func(f folder, ports []int) ([]string, error) {
		argv, err := redisSpec.command(f, ports)
		for _, setting := range settings {
			words := strings.Fields(setting)
			argv = append(append(argv, "--"+words[0]), words[1:]...)
		}
		return argv, err
	}
	srv := control(tb, s)
	srv.source = "redis://" + srv.Addr()
	return srv
}

func control(tb testing.TB, s spec) *Server {
	tb.Helper()
	return &Server{tb: tb, spec: s, server: launchFor(tb, s)}
}

// URL is where the server is: a URL for PostgreSQL, of its first database, and for Redis; for MariaDB a
// data source name in the form of github.com/go-sql-driver/mysql, of a schema.
func (s *Server) URL() string { return s.source }

// Addr is the host and port.
func (s *Server) Addr() string { return loopback(s.server.ports[0]) }

// Pid is the server's first process. It changes with Restart.
func (s *Server) Pid() int { return s.server.proc.pid }

// Kill ends every process of the server with SIGKILL, and returns when they are gone. It is nothing for a
// server that has ended.
func (s *Server) Kill() {
	s.tb.Helper()
	proc := s.server.proc
	// A first process that is stopped starts no more of them, and does not tell them of each other's end.
	proc.signal(syscall.SIGSTOP)
	children := childrenOf(proc.pid)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the only error is that it has gone
	}
	proc.signal(syscall.SIGKILL)
	<-proc.done
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(time.Millisecond) {
		gone := true
		for _, pid := range children {
			gone = gone && !runs(pid)
		}
		if gone {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("testserver: processes of %s outlive SIGKILL", s.spec.name)
		}
	}
}

// Restart starts a server that has ended on the same port, with the data that it has, and returns when it
// answers.
func (s *Server) Restart() {
	s.tb.Helper()
	old := s.server.proc
	select {
	case <-old.done:
	default:
		s.tb.Fatalf("testserver: %s still runs", s.spec.name)
	}
	argv, err := s.spec.command(s.server.folder, s.server.ports)
	if err == nil {
		s.server.proc, err = start(old.ws, s.server.folder, s.spec.stop, argv)
	}
	if err == nil {
		err = s.server.proc.await(func() error { return s.spec.probe(s.server.ports) })
	}
	if err != nil {
		s.tb.Fatalf("testserver: start %s again: %v", s.spec.name, err)
	}
}
