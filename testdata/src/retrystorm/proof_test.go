package retrystorm

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// driver is one function of bad.go or good.go.
type driver func(ctx context.Context, forklift string, drive Drive) error

func on[H any](handle H, f func(context.Context, H, string, Drive) error) driver {
	return func(ctx context.Context, forklift string, drive Drive) error { return f(ctx, handle, forklift, drive) }
}

func nothing(context.Context) error { return nil }

// tries counts the SETs of the server, those of scripts included.
func tries(t *testing.T, rdb *goredis.Client) int {
	info, err := rdb.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls, _, _ := strings.Cut(info["Commandstats"]["cmdstat_set"], ",")
	n, err := strconv.Atoi(strings.TrimPrefix(calls, "calls="))
	if err != nil && calls != "" {
		t.Fatal(err)
	}
	return n
}

// storm is a number of tries that a driver who rests between two of them needs longer for than
// Patience.
const storm = int(proof.Patience/leastPause) + 1

// wait lets the driver find the forklift taken until enough says so, and then frees it. It returns the
// number of tries and how long the wait was.
func wait(t *testing.T, rdb *goredis.Client, run driver, enough func(tries int) bool) (n int, waited time.Duration) {
	t.Helper()
	const forklift = "yellow"
	if err := rdb.Set(t.Context(), lockKey(forklift), "another", leaseTTL).Err(); err != nil {
		t.Fatal(err)
	}
	before, start := tries(t, rdb), time.Now()
	p := proof.Start(t, func() error { return run(t.Context(), forklift, nothing) })
	if !proof.Soon(func() bool { n = tries(t, rdb) - before; return enough(n) }) {
		t.Fatalf("tries = %d in %v", n, time.Since(start))
	}
	if err := rdb.Del(t.Context(), lockKey(forklift)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return tries(t, rdb) - before, time.Since(start)
}

func methods(lock func(*Forklift, context.Context) error) func(context.Context, *goredis.Client, string, Drive) error {
	return func(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
		f := &Forklift{rdb: rdb, name: forklift}
		if err := lock(f, ctx); err != nil {
			return err
		}
		return errors.Join(drive(ctx), f.Unlock(ctx))
	}
}

func TestBadKeepsTheServerBusy(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, run := range map[string]driver{
		"spin":            on[*goredis.Client](rdb, Spin),
		"methods":         on[*goredis.Client](rdb, methods((*Forklift).Lock)),
		"waits on errors": on[*goredis.Client](rdb, WaitsOnErrors),
		"redsync":         on[*redsync.Redsync](redsync.New(redsyncpool.NewPool(rdb)), Redsync),
		"bsm/redislock":   on[*redislock.Client](redislock.New(rdb), Obtain),
	} {
		t.Run(name, func(t *testing.T) {
			n, waited := wait(t, rdb, run, func(n int) bool { return n >= storm })
			t.Logf("%d tries in %v", n, waited)
		})
	}
}

func TestGoodRestsBetweenTwoTries(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	backoff := func(ctx context.Context, rdb *goredis.Client, forklift string, drive Drive) error {
		next := func(try int) time.Duration { return leastPause + rand.N(time.Duration(try+1)*leastPause) }
		return Backoff(ctx, rdb, forklift, next, drive)
	}
	for name, run := range map[string]driver{
		"fixed sleep":   on[*goredis.Client](rdb, FixedSleep),
		"jittered":      on[*goredis.Client](rdb, Jittered),
		"methods":       on[*goredis.Client](rdb, methods((*Forklift).LockWaiting)),
		"backoff":       on[*goredis.Client](rdb, backoff),
		"redsync":       on[*redsync.Redsync](redsync.New(redsyncpool.NewPool(rdb)), RedsyncWaits),
		"bsm/redislock": on[*redislock.Client](redislock.New(rdb), ObtainWaits),
	} {
		t.Run(name, func(t *testing.T) {
			// As many tries as there are rests between them, whatever the machine does meanwhile.
			n, waited := wait(t, rdb, run, func(n int) bool { return n >= 3 })
			if most := 1 + int(waited/leastPause); n > most {
				t.Fatalf("tries = %d in %v, want %d at most", n, waited, most)
			}
		})
	}
}

// A ticker has one tick in store, so that two tries may follow each other at once; more may not.
func TestFixedTicksRest(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	n, waited := wait(t, rdb, on[*goredis.Client](rdb, FixedTicks), func(n int) bool { return n >= 3 })
	if most := 2 + int(waited/pause); n > most {
		t.Fatalf("tries = %d in %v, want %d at most", n, waited, most)
	}
}

// A number of tries is no bound of the wait: a thousand are over before the holder has done anything.
func TestBadGivesUpInAMoment(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	s.MustTake(lockKey("red"), "another")
	before := tries(t, rdb)
	if _, err := Counted(s.Redigo(s.Addr), "red", 1000); !errors.Is(err, redis.ErrNil) {
		t.Fatalf("counted to %v, want %v", err, redis.ErrNil)
	}
	if n := tries(t, rdb) - before; n != 1000 {
		t.Fatalf("tries = %d, want 1000", n)
	}
	token, err := Counted(s.Redigo(s.Addr), "green", 1000)
	if err != nil || s.Holder(lockKey("green")) != token {
		t.Fatalf("a free forklift is refused: %v", err)
	}
}

// With the server's own wait there is one try for each wakening.
func TestGoodIsTold(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	before := tries(t, rdb)
	var second *proof.Program
	err := ServerWaits(t.Context(), rdb, "blue", func(ctx context.Context) error {
		second = proof.Start(t, func() error { return ServerWaits(t.Context(), rdb, "blue", nothing) })
		if !proof.Soon(func() bool { return tries(t, rdb)-before == 2 }) {
			t.Fatal("the second driver does not ask")
		}
		return nil
	})
	if err := errors.Join(err, second.Wait()); err != nil {
		t.Fatal(err)
	}
}

func TestLoopsOverKeys(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	s.MustTake(lockKey("one"), "another")
	before, drove := tries(t, rdb), 0
	drive := func(context.Context) error { drove++; return nil }
	if err := Whichever(t.Context(), rdb, []string{"one", "two", "three"}, drive); err != nil || drove != 1 {
		t.Fatalf("drove %d times, %v; want once, with the second forklift", drove, err)
	}
	if n := tries(t, rdb) - before; n != 2 {
		t.Fatalf("tries = %d, want one for each key up to the free one", n)
	}

	messages := make(chan string, 3)
	messages <- "a"
	messages <- "b"
	messages <- "a"
	close(messages)
	var handled []string
	err := Redelivered(s.Redigo(s.Addr), messages, func(id string) error { handled = append(handled, id); return nil })
	if err != nil || strings.Join(handled, "") != "ab" {
		t.Fatalf("handled %v, %v; want each message once", handled, err)
	}
}

// revision counts the changes that etcd has made: a try that is refused makes two.
func revision(t *testing.T, client *clientv3.Client) int64 {
	resp, err := client.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

func TestEtcd(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{testserver.Etcd(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	session := func() *concurrency.Session {
		s, err := concurrency.NewSession(client)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	// changes says how many changes a driver makes until enough, or until it waits for one that will
	// come when the forklift is free.
	changes := func(run func(context.Context, *concurrency.Session, string, Drive) error, enough int64) (n int64) {
		holder := concurrency.NewMutex(session(), "/forklifts/tall")
		if err := holder.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, before := session(), revision(t, client)
		p := proof.Start(t, func() error { return run(t.Context(), s, "tall", nothing) })
		if !proof.Soon(func() bool { n = revision(t, client) - before; return n >= enough }) {
			t.Fatalf("changes = %d, want %d", n, enough)
		}
		if err := holder.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		return revision(t, client) - before
	}
	if n := changes(Etcd, 100); n < 100 {
		t.Fatalf("changes = %d, want each try written and deleted", n)
	}
	// Our key, the holder's release and ours.
	if n := changes(EtcdWaits, 1); n != 3 {
		t.Fatalf("changes = %d, want 3", n)
	}
}
