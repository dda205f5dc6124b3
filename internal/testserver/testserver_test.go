//go:build unix

package testserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endVariable makes this test binary start every server, print where they are, and end in the way
// that the variable names; see TestNothingIsLeft.
const endVariable = "TESTSERVER_END"

func TestMain(m *testing.M) {
	switch os.Getenv(endVariable) {
	case "", "main":
		Main(m)
	default: // the ends without Main
		os.Exit(m.Run())
	}
}

// portOf is the port of an address, a URL or a data source name.
func portOf(t *testing.T, where string) int {
	t.Helper()
	if u, err := url.Parse(where); err == nil && u.Host != "" {
		where = u.Host
	} else if _, rest, ok := strings.Cut(where, "@tcp("); ok {
		where, _, _ = strings.Cut(rest, ")")
	}
	_, text, err := net.SplitHostPort(where)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", loopback(port), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func TestPostgresGivesEachTestItsOwnDatabase(t *testing.T) {
	var port int
	var names []string
	for range 2 {
		t.Run("use", func(t *testing.T) {
			dsn := Postgres(t)
			port, names = portOf(t, dsn), append(names, databaseOf(t, dsn))
			database := names[len(names)-1]
			// The same table twice: the second use would fail in the first one's database.
			if err := postgresExec(port, database, "CREATE TABLE t (id int)"); err != nil {
				t.Fatal(err)
			}
			err := postgresExec(port, database, "SELECT 1/0")
			if err == nil || !strings.Contains(err.Error(), "22012") {
				t.Errorf("division by zero: %v, want SQLSTATE 22012", err)
			}
		})
	}
	for _, name := range names {
		err := postgresExec(port, name, "SELECT 1")
		if err == nil || !strings.Contains(err.Error(), "3D000") {
			t.Errorf("after the test, database %s: %v, want SQLSTATE 3D000, no such database", name, err)
		}
	}
}

func TestPostgresDropsADatabaseThatIsInUse(t *testing.T) {
	var port int
	var name string
	sleeper := make(chan error, 1)
	t.Run("use", func(t *testing.T) {
		dsn := Postgres(t)
		port, name = portOf(t, dsn), databaseOf(t, dsn)
		go func() { sleeper <- postgresExec(port, name, "SELECT pg_sleep(600)") }()
		awaitSession(t, port, name)
	})
	if err := <-sleeper; err == nil || !strings.Contains(err.Error(), "57P01") {
		t.Errorf("the session of a dropped database: %v, want SQLSTATE 57P01, ended by an administrator", err)
	}
}

// awaitSession waits until a session sleeps in the database: the division fails while there is none.
func awaitSession(t *testing.T, port int, database string) {
	t.Helper()
	query := fmt.Sprintf("SELECT 1/count(*) FROM pg_stat_activity WHERE datname = '%s' AND wait_event = 'PgSleep'", database)
	deadline := time.Now().Add(time.Minute)
	for postgresExec(port, "postgres", query) != nil {
		if time.Now().After(deadline) {
			t.Fatal("no session")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestPostgresDoesNotRunAsRoot(t *testing.T) {
	Postgres(t)
	srv, err := thePostgres()
	if err != nil {
		t.Fatal(err)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(srv.folder.join("data/postmaster.pid"), &stat); err != nil {
		t.Fatal(err)
	}
	if stat.Uid == 0 {
		t.Error("the server's files belong to root")
	}
}

// advisoryLock takes a session-level lock and does not release it.
const advisoryLock = "SELECT pg_advisory_lock(42)"

// lockIsHeld fails while nobody holds the lock.
const lockIsHeld = "SELECT 1/count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42"

// A client that leaves ends its session in one mode; in the other the pooler's server connection
// goes on, and keeps the lock. That tells the modes apart.
func TestPgBouncerModes(t *testing.T) {
	for mode, kept := range map[string]bool{"transaction": true, "session": false} {
		t.Run(mode, func(t *testing.T) {
			dsn := PgBouncer(t, mode)
			port, database := portOf(t, dsn), databaseOf(t, dsn)
			if err := postgresExec(port, database, advisoryLock); err != nil {
				t.Fatal(err)
			}
			held := func() bool { return postgresExec(port, database, lockIsHeld) == nil }
			// In session mode the pooler resets the connection in its own time.
			deadline := time.Now().Add(10 * time.Second)
			for held() && !kept && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
			}
			if held() != kept {
				t.Errorf("lock held after its client left: %v, want %v", !kept, kept)
			}
		})
	}
}

func TestMariaDBGivesEachTestItsOwnSchema(t *testing.T) {
	var port int
	var names []string
	for range 2 {
		t.Run("use", func(t *testing.T) {
			dsn := MariaDB(t)
			_, name, _ := strings.Cut(dsn, ")/")
			port, names = portOf(t, dsn), append(names, name)
			if err := mariadbExec(port, "CREATE TABLE "+name+".t (id INT)"); err != nil {
				t.Fatal(err)
			}
			// The table exists now: 1050.
			err := mariadbExec(port, "CREATE TABLE "+name+".t (id INT)")
			if err == nil || !strings.Contains(err.Error(), "error 1050") {
				t.Errorf("second table of one name: %v, want error 1050", err)
			}
		})
	}
	for _, name := range names {
		// 1049: no such schema.
		err := mariadbExec(port, "CREATE TABLE "+name+".t (id INT)")
		if err == nil || !strings.Contains(err.Error(), "error 1049") {
			t.Errorf("after the test, schema %s: %v, want error 1049", name, err)
		}
	}
}

func TestRedisServersAreEmptyAndIndependent(t *testing.T) {
	var first, second string
	t.Run("use", func(t *testing.T) {
		first, second = Redis(t), Redis(t)
		if answer := redisAsk(t, first, "SET k v"); answer != "+OK" {
			t.Errorf("SET: %q", answer)
		}
		if answer := redisAsk(t, second, "GET k"); answer != "$-1" {
			t.Errorf("GET on the other server: %q, want no value", answer)
		}
	})
	for _, address := range []string{first, second} {
		if listens(portOf(t, address)) {
			t.Errorf("%s still listens after its test", address)
		}
	}
}

func redisAsk(t *testing.T, address, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", command)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

func TestEtcdKeepsKeysAndIsGoneAfterTheTest(t *testing.T) {
	var endpoint string
	t.Run("use", func(t *testing.T) {
		endpoint = Etcd(t)
		// Keys and values are base64 in the JSON gateway: k and v.
		etcdPost(t, endpoint+"/v3/kv/put", `{"key":"aw==","value":"dg=="}`)
		if got := etcdPost(t, endpoint+"/v3/kv/range", `{"key":"aw=="}`); !strings.Contains(got, `"value":"dg=="`) {
			t.Errorf("range: %s, want the value that was put", got)
		}
	})
	if listens(portOf(t, endpoint)) {
		t.Errorf("%s still listens after its test", endpoint)
	}
}

func etcdPost(t *testing.T, address, body string) string {
	t.Helper()
	resp, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", address, resp.Status, text.String())
	}
	return text.String()
}

func TestMissingProgramNamesTheCommandThatInstallsIt(t *testing.T) {
	_, err := program{name: "no-such-server", pkg: "some-server"}.find()
	if err == nil || !strings.Contains(err.Error(), "apt-get install -y some-server") {
		t.Errorf("error %v, want the command", err)
	}
}

func TestNewestVersionIsChosen(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9.6", "15", "17", "8"} {
		dir := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "db"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A version without an executable does not count.
	if err := os.Chmod(filepath.Join(root, "17", "bin", "db"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := newest(filepath.Join(root, "*", "bin", "db")), filepath.Join(root, "15", "bin", "db"); got != want {
		t.Errorf("newest: %s, want %s", got, want)
	}
}

// A server whose port is taken exits. Whoever has the port says nothing to the probe here.
func TestServerThatLosesItsPortGetsAnother(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() {
		for {
			conn, err := taken.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	attempts := 0
	s := redisSpec
	s.command = func(f folder, ports []int) ([]string, error) {
		if attempts++; attempts == 1 {
			ports[0] = portOf(t, taken.Addr().String())
		}
		return redisSpec.command(f, ports)
	}
	srv, err := launch(s)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.close()
	if attempts != 2 || redisSpec.probe(srv.ports) != nil {
		t.Errorf("after %d attempts, port %v: want a server on the second", attempts, srv.ports)
	}
}

func TestServerThatExitsFailsWithItsLog(t *testing.T) {
	broken := spec{
		name: "broken", ports: 1, stop: syscall.SIGKILL,
		command: func(folder, []int) ([]string, error) {
			return []string{"/bin/sh", "-c", "echo bad setting >&2; exit 3"}, nil
		},
		probe: func([]int) error { return errors.New("not ready") },
	}
	_, err := launch(broken)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "bad setting") {
		t.Errorf("error %v, want the exit status and the log", err)
	}
}

// useAllAndEnd is what TestNothingIsLeft's child processes do: print the workspace and the ports, a
// line each, and end as told.
func useAllAndEnd(t *testing.T, end string) {
	t.Helper()
	wheres := map[string]string{
		"postgres": Postgres(t), "pgbouncer": PgBouncer(t, "session"),
		"mariadb": MariaDB(t), "redis": Redis(t), "etcd": Etcd(t),
	}
	ws, err := openWorkspace()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("root", ws.root)
	for name, where := range wheres {
		fmt.Println("port", name, portOf(t, where))
	}
	switch end {
	case "exit":
		os.Exit(7)
	case "panic":
		panic("on purpose")
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "timeout":
		// What package testing does when the time is up: a panic outside the test's goroutine.
		go panic("on purpose")
		select {}
	}
}

func TestNothingIsLeft(t *testing.T) {
	if end := os.Getenv(endVariable); end != "" {
		useAllAndEnd(t, end)
		return
	}
	for _, end := range []string{"main", "return", "exit", "panic", "kill", "timeout"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			root, ports := runChild(t, end)
			// After Main everything is gone already; after the others it goes soon.
			patience := time.Minute
			if end == "main" {
				patience = 0
			}
			awaitNothing(t, root, ports, patience)
		})
	}
}

// A program that makes a server's data is stopped with the tests, and leaves nothing either.
func TestNothingIsLeftOfAStartThatIsCutShort(t *testing.T) {
	if os.Getenv(endVariable) != "" {
		go func() {
			ws, err := openWorkspace()
			for err == nil {
				if found, _ := filepath.Glob(filepath.Join(ws.root, "mariadb-*", "data", "sys", "*")); len(found) > 0 {
					fmt.Println("root", ws.root)
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				time.Sleep(time.Millisecond)
			}
		}()
		MariaDB(t)
		t.Fatal("the server was ready before its data was seen")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeftOfAStartThatIsCutShort$")
	cmd.Env = append(os.Environ(), endVariable+"=cut")
	out, _ := cmd.CombinedOutput() // it is killed
	var root string
	if n, _ := fmt.Sscanf(string(out), "root %s", &root); n != 1 {
		t.Fatalf("child: %s", out)
	}
	awaitNothing(t, root, nil, time.Minute)
	// A writer that lives on would make the folder anew or have kept it.
	time.Sleep(200 * time.Millisecond)
	awaitNothing(t, root, nil, 0)
}

// awaitNothing fails the test if something is left of a child's servers after the time given.
func awaitNothing(t *testing.T, root string, ports map[string]int, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		left := leftovers(root, ports)
		if len(left) == 0 {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("still there: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// runChild starts every server in a process that ends in the given way.
func runChild(t *testing.T, end string) (root string, ports map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestNothingIsLeft$")
	// Of a child that hangs, the stacks are wanted.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.Env = append(os.Environ(), endVariable+"="+end)
	out, err := cmd.CombinedOutput()
	if clean := end == "main" || end == "return"; clean != (err == nil) {
		t.Fatalf("child: %v\n%s", err, out)
	}
	ports = map[string]int{}
	for line := range strings.Lines(string(out)) {
		var name string
		var port int
		if n, _ := fmt.Sscanf(line, "port %s %d", &name, &port); n == 2 {
			ports[name] = port
		}
		fmt.Sscanf(line, "root %s", &root)
	}
	if root == "" || len(ports) != 5 {
		t.Fatalf("child did not start its servers: %v\n%s", err, out)
	}
	return root, ports
}

// leftovers is what is still there of a child's servers: their folder, and those that listen.
func leftovers(root string, ports map[string]int) []string {
	var left []string
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		left = append(left, root)
	}
	for name, port := range ports {
		if listens(port) {
			left = append(left, fmt.Sprintf("%s on %s", name, loopback(port)))
		}
	}
	return left
}
