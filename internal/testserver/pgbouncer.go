//go:build unix

package testserver

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// PgBouncer returns the URL of a new PostgreSQL database, seen through a PgBouncer of the test's
// own. Mode is "transaction" or "session": how long a client keeps a server connection. A
// PgBouncer before 1.21 knows no prepared statements in transaction mode, so that a client must
// not use them (pgx: default_query_exec_mode=exec).
func PgBouncer(tb testing.TB, mode string) string {
	tb.Helper()
	if mode != "transaction" && mode != "session" {
		tb.Fatalf("testserver: pgbouncer mode %q is neither transaction nor session", mode)
	}
	postgresPort, database := newPostgresDatabase(tb)
	srv := launchFor(tb, pgbouncerSpec(postgresPort, database, mode))
	return postgresURL(srv.ports[0], database)
}

func pgbouncerSpec(postgresPort int, database, mode string) spec {
	return spec{
		name:  "pgbouncer",
		users: []string{"postgres"},
		ports: 1,
		stop:  syscall.SIGQUIT, // immediate shutdown (pgbouncer(1), Signals)
		command: func(f folder, ports []int) ([]string, error) {
			bin, err := pgbouncer.find()
			if err != nil {
				return nil, err
			}
			users := f.join("users.txt")
			if err := os.WriteFile(users, fmt.Appendf(nil, "%q \"\"\n", postgresUser), 0o644); err != nil {
				return nil, err
			}
			config := f.join("pgbouncer.ini")
			text := fmt.Appendf(nil, pgbouncerConfig, postgresPort, ports[0], mode, users)
			if err := os.WriteFile(config, text, 0o644); err != nil {
				return nil, err
			}
			return []string{bin, config}, nil
		},
		probe: func(ports []int) error { return postgresExec(ports[0], database, "SELECT 1") },
	}
}

// pgbouncerConfig takes the server's port, the port to listen on, the mode and the file of users.
// Start-up parameters that drivers send and that change no lock are let through.
const pgbouncerConfig = `[databases]
* = host=127.0.0.1 port=%d

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
pool_mode = %s
auth_type = trust
auth_file = %s
default_pool_size = 20
server_login_retry = 1
ignore_startup_parameters = extra_float_digits,options,statement_timeout,lock_timeout
`
