//go:build unix

package testserver

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// mariadbUser has every privilege and no password, from this machine only.
const mariadbUser = "test"

// MariaDB returns the data source name, in the form of github.com/go-sql-driver/mysql, of a new
// schema in this test binary's own MariaDB server. The schema is dropped when the test ends. The
// names of GET_LOCK belong to the server, not to a schema: tests that run in parallel must choose
// names that differ.
func MariaDB(tb testing.TB) string {
	tb.Helper()
	srv, err := theMariaDB()
	if err != nil {
		tb.Fatalf("testserver: %v", err)
	}
	port, name := srv.ports[0], fmt.Sprintf("test_%d", databases.Add(1))
	if err := mariadbExec(port, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("testserver: create schema %s: %v", name, err)
	}
	tb.Cleanup(func() {
		// A transaction that the test left open holds its tables; the server's own limit is a day.
		if err := mariadbExec(port, "SET STATEMENT lock_wait_timeout=10 FOR DROP DATABASE "+name); err != nil {
			tb.Errorf("testserver: drop schema %s: %v", name, err)
		}
	})
	return fmt.Sprintf("%s@tcp(%s)/%s", mariadbUser, loopback(port), name)
}

// theMariaDB is started by the first test that needs it. A failure is kept for all.
var theMariaDB = sync.OnceValues(func() (*server, error) { return launch(mariadbSpec) })

var mariadbSpec = spec{
	name:  "mariadb",
	users: []string{"mysql"},
	ports: 1,
	stop:  syscall.SIGKILL,
	prepare: func(ws *workspace, f folder) error {
		bin, err := mariadbInstall.find()
		if err != nil {
			return err
		}
		// One statement a line: that is how the server reads the file, before it listens.
		account := fmt.Sprintf("'%s'@'127.0.0.1'", mariadbUser)
		statements := "CREATE USER IF NOT EXISTS " + account + ";\n" +
			"GRANT ALL ON *.* TO " + account + " WITH GRANT OPTION;\n"
		if err := os.WriteFile(f.join("init.sql"), []byte(statements), 0o644); err != nil {
			return err
		}
		return f.run(ws, bin, "--no-defaults", "--datadir="+f.join("data"), "--skip-test-db",
			"--auth-root-authentication-method=normal")
	},
	command: func(f folder, ports []int) ([]string, error) {
		bin, err := mariadbd.find()
		if err != nil {
			return nil, err
		}
		return []string{bin, "--no-defaults", // must come first
			"--datadir=" + f.join("data"),
			"--init-file=" + f.join("init.sql"),
			"--bind-address=127.0.0.1",
			fmt.Sprintf("--port=%d", ports[0]),
			"--socket=" + f.join("s"),
			"--pid-file=" + f.join("pid"),
			// Hosts stay addresses, as the account's is, and no name server is asked.
			"--skip-name-resolve",
			// The data is thrown away, so nothing has to survive a crash.
			"--innodb-flush-log-at-trx-commit=0",
			"--innodb-buffer-pool-size=16M",
			"--skip-log-bin",
		}, nil
	},
	probe: func(ports []int) error { return mariadbExec(ports[0], "DO 1") },
}
