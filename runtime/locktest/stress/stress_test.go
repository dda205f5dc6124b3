package stress_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
)

func TestMain(m *testing.M) {
	stress.Main()
	testserver.Main(m)
}

func init() {
	stress.Register("naive", naiveWorker)
	stress.Register("echo", func(w *stress.Worker) error {
		for _, a := range w.Arguments() {
			w.Say("%s", a)
		}
		for {
			line, err := w.Hear()
			if err != nil {
				return nil
			}
			if line == "fail" {
				return errors.New("as told")
			}
			w.Say("heard %s", line)
		}
	})
}

// patience bounds what must happen, on a machine with much else to do.
const patience = time.Minute

// kinds are the servers, and the wrong way to lock that is usual on each. Both take place on one
// connection, where the server grants a lock to the session that has it already.
var kinds = map[string]struct {
	start         func(testing.TB) string
	open          func(source string) (stress.Section, func() error, error)
	lock, release string
}{
	"postgresql": {
		start: testserver.Postgres, open: openSQL("pgx", stress.PostgreSQL),
		lock: "select pg_advisory_lock(1)", release: "select pg_advisory_unlock(1)",
	},
	"mysql": {
		start: testserver.MariaDB, open: openSQL("mysql", stress.MySQL),
		lock: "select get_lock('stress', 10)", release: "select release_lock('stress')",
	},
	"redis": {start: testserver.Redis, open: func(addr string) (stress.Section, func() error, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		return stress.Redis(client, "section"), client.Close, nil
	}},
}

func openSQL(driver string, section func(*sql.DB, string) stress.Section) func(string) (stress.Section, func() error, error) {
	return func(source string) (stress.Section, func() error, error) {
		db, err := sql.Open(driver, source)
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxOpenConns(5)
		return section(db, "section"), db.Close, nil
	}
}

// prepared starts a server with a section in it.
func prepared(t *testing.T, kind string) (source string, section stress.Section) {
	t.Helper()
	source = kinds[kind].start(t)
	section, end, err := kinds[kind].open(source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end() })
	if err := section.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return source, section
}

// naive is the lock that must be caught: on SQL servers over one pooled connection, on Redis a look before
// the leap.
func naive(kind, source string) (do func(context.Context, func(context.Context) error) error, end func() error, err error) {
	if kind == "redis" {
		client := redis.NewClient(&redis.Options{Addr: source})
		return func(ctx context.Context, fn func(context.Context) error) error {
			for client.Exists(ctx, "lock").Val() == 1 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if err := client.Set(ctx, "lock", "me", time.Minute).Err(); err != nil {
				return err
			}
			defer client.Del(ctx, "lock")
			return fn(ctx)
		}, client.Close, nil
	}
	driver := map[string]string{"postgresql": "pgx", "mysql": "mysql"}[kind]
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return func(ctx context.Context, fn func(context.Context) error) error {
		if _, err := db.ExecContext(ctx, kinds[kind].lock); err != nil {
			return err
		}
		defer db.ExecContext(ctx, kinds[kind].release)
		return fn(ctx)
	}, db.Close, nil
}

func naiveWorker(w *stress.Worker) error {
	kind, source := w.Arguments()[0], w.Arguments()[1]
	section, endSection, err := kinds[kind].open(source)
	if err != nil {
		return err
	}
	defer endSection()
	do, end, err := naive(kind, source)
	if err != nil {
		return err
	}
	defer end()
	load := stress.Load{Goroutines: 4, Rounds: 20, Hold: time.Millisecond}
	visits, err := load.Run(context.Background(), section, do)
	w.Say("%d", visits)
	return err
}

func TestTheRecordShowsALockThatDoesNotExclude(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			source, section := prepared(t, kind)
			do, end, err := naive(kind, source)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			load := stress.Load{Goroutines: 8, Rounds: 20, Hold: time.Millisecond}
			wantCaught(t, section, runLoad(t, load, section, do))
		})
	}
}

func TestTheRecordOfProcessesShowsALockThatDoesNotExclude(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			source, section := prepared(t, kind)
			workers := stress.Start(t, 3, "naive", kind, source)
			total := 0
			for _, p := range workers {
				line, _ := p.Next(t, patience)
				visits, err := strconv.Atoi(line)
				if err != nil {
					t.Fatalf("worker: %q, %v", line, p.Wait(t, patience))
				}
				total += visits
				if err := p.Wait(t, patience); err != nil {
					t.Fatal(err)
				}
			}
			wantCaught(t, section, int64(total))
		})
	}
}

func TestTheRecordOfALockThatExcludesIsClean(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			_, section := prepared(t, kind)
			var mu sync.Mutex
			load := stress.Load{Goroutines: 8, Rounds: 10}
			visits := runLoad(t, load, section, func(ctx context.Context, fn func(context.Context) error) error {
				mu.Lock()
				defer mu.Unlock()
				return fn(ctx)
			})
			r := inspect(t, section, visits)
			if err := r.Err(); err != nil || visits != 80 || r.Open != 0 {
				t.Errorf("%d visits, %+v, %v; want 80", visits, r, err)
			}
		})
	}
}

func TestTheRecordHasTokensAndThoseWhoDidNotLeave(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			_, section := prepared(t, kind)
			for _, token := range []int64{7, 6} {
				if _, err := section.Enter(t.Context(), token); err != nil {
					t.Fatal(err)
				}
			}
			want := stress.Report{Visits: 2, Open: 2, Stale: 1}
			if r := inspect(t, section, 2); r != want {
				t.Errorf("%+v, want %+v", r, want)
			}
			visits, err := section.Visits(t.Context())
			if err != nil || len(visits) != 2 || visits[0].Process != os.Getpid() || visits[1].Process != os.Getpid() {
				t.Errorf("%+v, %v; want two of process %d", visits, err, os.Getpid())
			}
		})
	}
}

func runLoad(t *testing.T, load stress.Load, section stress.Section, do func(context.Context, func(context.Context) error) error) int64 {
	t.Helper()
	visits, err := load.Run(t.Context(), section, do)
	if err != nil {
		t.Fatal(err)
	}
	return visits
}

// inspect wants every visit in the record.
func inspect(t *testing.T, section stress.Section, visits int64) stress.Report {
	t.Helper()
	r, err := stress.Inspect(t.Context(), section)
	if err != nil {
		t.Fatal(err)
	}
	if int64(r.Visits) != visits {
		t.Errorf("%d visits in the record, want %d", r.Visits, visits)
	}
	return r
}

func wantCaught(t *testing.T, section stress.Section, visits int64) {
	t.Helper()
	r := inspect(t, section, visits)
	t.Log(r.Err())
	if r.Err() == nil || r.Most < 2 || r.Both <= 0 {
		t.Errorf("nothing is seen of a naive lock: %+v", r)
	}
}

func TestTheEndOfALoadIsNoError(t *testing.T) {
	_, section := prepared(t, "redis")
	load := stress.Load{Goroutines: 2, For: 20 * time.Millisecond}
	visits, err := load.Run(t.Context(), section, func(ctx context.Context, _ func(context.Context) error) error {
		<-ctx.Done()
		return fmt.Errorf("gave up: %w", ctx.Err())
	})
	if visits != 0 || err != nil {
		t.Errorf("%d visits, %v", visits, err)
	}
	early := fmt.Errorf("gave up before: %w", context.DeadlineExceeded)
	if _, err = load.Run(t.Context(), section, func(context.Context, func(context.Context) error) error { return early }); err != nil {
		t.Error(err)
	}
	load = stress.Load{Goroutines: 2, Rounds: 1}
	if _, err = load.Run(t.Context(), section, func(context.Context, func(context.Context) error) error { return early }); !errors.Is(err, early) {
		t.Errorf("error %v of a load without an end", err)
	}
}

func TestALoadGivesTheErrorOfALockAndOfARecord(t *testing.T) {
	_, section := prepared(t, "redis")
	wrong := errors.New("wrong")
	load := stress.Load{Goroutines: 2, For: time.Minute}
	_, err := load.Run(t.Context(), section, func(context.Context, func(context.Context) error) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("error %v, want the lock's", err)
	}
	broken := stress.Redis(redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}), "section")
	_, err = load.Run(t.Context(), broken, func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) })
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want the record's", err)
	}
}

func TestWorkersSayAndHear(t *testing.T) {
	for i, p := range stress.Start(t, 2, "echo", "one", "two words") {
		for _, want := range []string{"one", "two words"} {
			if line, ok := p.Next(t, patience); line != want || !ok {
				t.Errorf("%q, %v; want %q", line, ok, want)
			}
		}
		told := fmt.Sprint("number ", i)
		if err := p.Tell(told); err != nil {
			t.Fatal(err)
		}
		if line, _ := p.Next(t, patience); line != "heard "+told {
			t.Errorf("%q", line)
		}
	}
}

func TestAWorkersFailureIsKnownWithItsError(t *testing.T) {
	p := stress.Start(t, 1, "echo")[0]
	if err := p.Tell("fail"); err != nil {
		t.Fatal(err)
	}
	if line, ok := p.Next(t, patience); ok {
		t.Errorf("the worker says %q", line)
	}
	err := p.Wait(t, patience)
	if want := fmt.Sprintf("worker %d: exit status 1: as told\n", p.Pid()); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestAStoppedWorkerIsSilentAndGoesOn(t *testing.T) {
	p := stress.Start(t, 1, "echo", "ready")[0]
	p.Next(t, patience)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	awaitState(t, p.Pid(), "T")
	if err := p.Tell("a"); err != nil {
		t.Fatal(err)
	}
	if err := p.Continue(); err != nil {
		t.Fatal(err)
	}
	if line, _ := p.Next(t, patience); line != "heard a" {
		t.Errorf("%q", line)
	}
}

func TestTheTestsEndKillsWorkersAlsoStoppedOnes(t *testing.T) {
	var pids []int
	t.Run("use", func(t *testing.T) {
		workers := stress.Start(t, 2, "echo", "ready")
		for _, p := range workers {
			p.Next(t, patience)
			pids = append(pids, p.Pid())
		}
		if err := workers[0].Stop(); err != nil {
			t.Fatal(err)
		}
	})
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("worker %d: %v, want no such process", pid, err)
		}
	}
}

// awaitState waits until the kernel says that a process is in a state (proc(5), /proc/pid/stat).
func awaitState(t *testing.T, pid int, want string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var state string
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) {
			time.Sleep(100 * time.Millisecond) // another system than Linux
			return
		}
		if fmt.Sscanf(string(text), "%d (%s %s", new(int), new(string), &state); state == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not get into state %s: %s", pid, want, text)
		}
	}
}
