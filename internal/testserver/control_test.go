//go:build unix

package testserver

import (
	"strings"
	"syscall"
	"testing"
)

func TestAKilledPostgresIsGoneAtOnceAndHasItsDataAfterRestart(t *testing.T) {
	t.Parallel()
	s := PostgresServer(t, "max_connections=7")
	port := portOf(t, s.URL())
	for _, statement := range []string{
		"CREATE TABLE kept (id int)",
		"INSERT INTO kept VALUES (1)",
		"SELECT 1/(CASE current_setting('max_connections') WHEN '7' THEN 1 ELSE 0 END)",
	} {
		if err := postgresExec(port, "postgres", statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	first, children := s.Pid(), childrenOf(s.Pid())
	if len(children) < 3 { // checkpointer, background writer and others
		t.Errorf("children %v of %d", children, first)
	}
	s.Kill()
	wantGone(t, port, append(children, first)...)
	s.Kill() // nothing
	s.Restart()
	if s.Pid() == first {
		t.Errorf("process %d as before", first)
	}
	if err := postgresExec(port, "postgres", "SELECT 1/count(*) FROM kept"); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestAKilledMariaDBIsGoneAtOnceAndHasItsDataAfterRestart(t *testing.T) {
	t.Parallel()
	s := MariaDBServer(t)
	port := portOf(t, s.URL())
	for _, statement := range []string{"CREATE TABLE test.kept (id int)", "INSERT INTO test.kept VALUES (1)"} {
		if err := mariadbExec(port, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	s.Kill()
	wantGone(t, port, s.Pid())
	s.Restart()
	// The row is found, or adding it anew would be no error.
	err := mariadbExec(port, "ALTER TABLE test.kept ADD CONSTRAINT c CHECK (id <> 1)")
	if err == nil || !strings.Contains(err.Error(), "4025") {
		t.Errorf("after the restart: %v, want error 4025, constraint failed", err)
	}
}

func TestAKilledRedisIsGoneAtOnceAndHasItsDataOnlyWhenTold(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"appendonly no": "$-1", "appendonly yes": "$5"} {
		t.Run(setting, func(t *testing.T) {
			s := RedisServer(t, setting, "maxmemory-policy allkeys-lru")
			port := portOf(t, s.URL())
			if got := redisAsk(t, s.Addr(), "SET kept value"); got != "+OK" {
				t.Fatal(got)
			}
			s.Kill()
			wantGone(t, port, s.Pid())
			s.Restart()
			if got := redisAsk(t, s.Addr(), "GET kept"); got != want {
				t.Errorf("after the restart: %q, want %q", got, want)
			}
			if got := redisAsk(t, s.Addr(), "CONFIG GET maxmemory-policy"); got != "*2" {
				t.Errorf("setting: %q", got)
			}
		})
	}
}

func TestAServerThatWasKilledLeavesNothingAtTheEnd(t *testing.T) {
	t.Parallel()
	var s *Server
	t.Run("use", func(t *testing.T) {
		s = RedisServer(t)
		s.Kill()
		s.Restart()
	})
	wantGone(t, portOf(t, s.URL()), s.Pid())
}

// wantGone wants that no process runs any more, and that nobody listens.
func wantGone(t *testing.T, port int, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if syscall.Kill(pids[len(pids)-1], 0) == nil {
		t.Errorf("process %d has not been collected", pids[len(pids)-1])
	}
	if listens(port) {
		t.Errorf("port %d still listens", port)
	}
}
