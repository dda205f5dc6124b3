//go:build unix

package testserver

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// postgresUser is the superuser that initdb makes; it needs no password.
const postgresUser = "postgres"

// Postgres returns the URL of a new, empty database in this test binary's own PostgreSQL server,
// with a superuser and without TLS. The database is dropped, with whoever is still connected, when
// the test ends. Advisory locks belong to a database, so that tests do not see each other's.
func Postgres(tb testing.TB) string {
	tb.Helper()
	port, name := newPostgresDatabase(tb)
	return postgresURL(port, name)
}

func postgresURL(port int, database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", postgresUser, loopback(port), database)
}

var (
	// thePostgres is started by the first test that needs it. A failure is kept for all.
	thePostgres = sync.OnceValues(func() (*server, error) { return launch(postgresSpec) })

	databases atomic.Int64
)

// newPostgresDatabase creates a database that lives as long as the test.
func newPostgresDatabase(tb testing.TB) (port int, name string) {
	tb.Helper()
	srv, err := thePostgres()
	if err != nil {
		tb.Fatalf("testserver: %v", err)
	}
	port, name = srv.ports[0], fmt.Sprintf("test_%d", databases.Add(1))
	if err := postgresExec(port, "postgres", "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("testserver: create database %s: %v", name, err)
	}
	tb.Cleanup(func() {
		if err := postgresExec(port, "postgres", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("testserver: drop database %s: %v", name, err)
		}
	})
	return port, name
}

var postgresSpec = spec{
	name:  "postgres",
	users: []string{"postgres"},
	ports: 1,
	// The immediate shutdown: the server process ends its children, which are in groups of their
	// own, and then itself (PostgreSQL manual, Shutting Down the Server).
	stop: syscall.SIGQUIT,
	prepare: func(ws *workspace, f folder) error {
		bin, err := initdb.find()
		if err != nil {
			return err
		}
		return f.run(ws, bin, "-D", f.join("data"), "-U", postgresUser, "-A", "trust",
			"--no-sync", "--no-locale", "-E", "UTF8")
	},
	command: func(f folder, ports []int) ([]string, error) {
		bin, err := initdb.find()
		if err != nil {
			return nil, err
		}
		// Debian and others link initdb into PATH from the folder that has postgres.
		if bin, err = filepath.EvalSymlinks(bin); err != nil {
			return nil, err
		}
		argv := []string{filepath.Join(filepath.Dir(bin), "postgres"), "-D", f.join("data")}
		for _, setting := range []string{
			"listen_addresses=127.0.0.1",
			fmt.Sprintf("port=%d", ports[0]),
			"unix_socket_directories=",
			// The data is thrown away, so nothing has to survive a crash.
			"fsync=off",
			"full_page_writes=off",
			"synchronous_commit=off",
			"wal_level=minimal",
			"max_wal_senders=0",
			"shared_buffers=32MB",
			"jit=off",
		} {
			argv = append(argv, "-c", setting)
		}
		return argv, nil
	},
	probe: func(ports []int) error { return postgresExec(ports[0], "postgres", "SELECT 1") },
}
