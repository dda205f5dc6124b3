package renewloop

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func open(t *testing.T) *redis.Client {
	s := proof.Redis(t)
	return s.V9(s.Addr)
}

// recorder is one function of bad.go or good.go.
type recorder func(ctx context.Context, camera string, record Record) error

func on[H any](handle H, f func(context.Context, H, string, Record) error) recorder {
	return func(ctx context.Context, camera string, record Record) error { return f(ctx, handle, camera, record) }
}

var errTorn = errors.New("cable is torn")

func torn(context.Context) error { return errTorn }

// renewals counts the commands that set an expiry since the server started.
func renewals(t *testing.T, rdb *redis.Client) string {
	info, err := rdb.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls, _, _ := strings.Cut(info["Commandstats"]["cmdstat_pexpire"], ",")
	return calls
}

// anew reports whether commands that renew still arrive.
func anew(t *testing.T, rdb *redis.Client) bool {
	before := renewals(t, rdb)
	return proof.Soon(func() bool { return renewals(t, rdb) != before })
}

func held(t *testing.T, rdb *redis.Client, camera string) bool {
	n, err := rdb.Exists(t.Context(), lockKey(camera)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// The recording has failed and its function has returned, and three leases later the camera is still
// locked and renewed. It stays so until the server ends.
func TestBadKeepsTheLockAfterItsHolderReturned(t *testing.T) {
	rdb := open(t)
	for name, run := range map[string]recorder{
		"endless":       on[*redis.Client](rdb, Endless),
		"unclosed stop": on[*redis.Client](rdb, UnclosedStop),
		"bsm/redislock": on[*redislock.Client](redislock.New(rdb), Refreshed),
	} {
		t.Run(name, func(t *testing.T) {
			// A lease may run out on a machine that is busy with something else, and then nothing
			// renews it: such a try says nothing.
			outlived := proof.Soon(func() bool {
				if err := run(t.Context(), name, torn); !errors.Is(err, errTorn) {
					t.Fatalf("recorded with %v, want %v", err, errTorn)
				}
				time.Sleep(3 * leaseTTL)
				return held(t, rdb, name)
			})
			if !outlived || !anew(t, rdb) {
				t.Fatalf("outlived = %v, want the lock renewed after its holder has returned", outlived)
			}
			if err := run(t.Context(), name, torn); !errors.Is(err, errBusy) {
				t.Fatalf("the next recorder got %v, want %v", err, errBusy)
			}
		})
	}
}

func TestGoodLeavesTheLockToItsTTL(t *testing.T) {
	rdb := open(t)
	for name, run := range map[string]recorder{
		"context":       on[*redis.Client](rdb, Ended),
		"bsm/redislock": on[*redislock.Client](redislock.New(rdb), RefreshedWhileRecording),
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), name, torn); !errors.Is(err, errTorn) {
				t.Fatalf("recorded with %v, want %v", err, errTorn)
			}
			if !proof.Soon(func() bool { return !held(t, rdb, name) }) {
				t.Fatal("the lock does not expire")
			}
		})
	}
}

// waiting counts the goroutines that are in a function.
func waiting(function string) int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "renewloop."+function+"(")
}

// Stop does not close the ticker's channel: the goroutine waits for a tick until the process ends.
func TestBadGoroutineOutlivesItsTicker(t *testing.T) {
	rdb := open(t)
	const locks = 20
	before := waiting("(*Camera).keepAlive")
	for range locks {
		camera := &Camera{rdb: rdb, name: "door"}
		if err := camera.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := camera.Free(t.Context()); err != nil && !errors.Is(err, errLost) {
			t.Fatal(err)
		}
	}
	left := func() int { return waiting("(*Camera).keepAlive") - before }
	if !proof.Soon(func() bool { return left() == locks }) {
		t.Fatalf("goroutines left = %d, want one for each of %d locks", left(), locks)
	}

	steady := &Steady{rdb: rdb, name: "door"}
	if err := steady.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := steady.Free(t.Context()); err != nil && !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	if left := waiting("(*Steady).keepAlive"); left != 0 {
		t.Fatalf("goroutines left = %d, want none: Free waits for it", left)
	}
}

// Although the loop runs, another recorder gets the camera.
func TestBadLosesTheLock(t *testing.T) {
	rdb := open(t)
	pool := redsync.New(goredis.NewPool(rdb))
	for name, run := range map[string]recorder{
		"ticker":  on[*redis.Client](rdb, LateTicks),
		"sleep":   on[*redis.Client](rdb, LateSleep),
		"redsync": on[*redsync.Redsync](pool, ExtendedLate),
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), name, func(ctx context.Context) error {
				in := proof.Soon(func() bool {
					ok, err := rdb.SetNX(ctx, lockKey(name), "another", time.Minute).Result()
					return ok && err == nil
				})
				if !in {
					t.Fatal("another never gets the lock, want it expired between two renewals")
				}
				return nil
			})
			if err == nil {
				t.Fatal("released, want the lock lost")
			}
		})
	}
}

// The good loops keep the lock for five leases. Where the machine was too busy to renew in time, the
// holder hears of it, and the try says nothing.
func TestGoodKeepsTheLock(t *testing.T) {
	rdb := open(t)
	pool := redsync.New(goredis.NewPool(rdb))
	for name, run := range map[string]recorder{
		"context":         on[*redis.Client](rdb, Ended),
		"ended by answer": on[*redis.Client](rdb, EndedByRefusal),
		"group":           on[*redis.Client](rdb, Grouped),
		"bsm/redislock":   on[*redislock.Client](redislock.New(rdb), RefreshedWhileRecording),
		"redsync":         on[*redsync.Redsync](pool, Extended),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			kept := proof.Soon(func() bool {
				err = run(t.Context(), name, func(context.Context) error { time.Sleep(5 * leaseTTL); return nil })
				return err == nil
			})
			if !kept || held(t, rdb, name) {
				t.Fatalf("kept = %v, %v; want the lock kept for five leases and then released", kept, err)
			}
		})
	}
}

// A presence is renewed for ever, and that is what it is for.
func TestPresenceIsNoLock(t *testing.T) {
	rdb := open(t)
	Presence(rdb, "attic")
	if !proof.Soon(func() bool { return rdb.Exists(t.Context(), "recorder:alive:attic").Val() == 1 }) {
		t.Fatal("the recorder does not show that it is alive")
	}
}
