package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// onEachMaster gives one key for each of the masters, in the order of their addresses.
func onEachMaster(t *testing.T, client *redis.ClusterClient, addresses []string) []lock.Key {
	t.Helper()
	found := map[string]lock.Key{}
	for i := 0; len(found) < len(addresses) && i < 1000; i++ {
		key := lock.NewKey("cluster", strconv.Itoa(i))
		node, err := client.MasterForKey(t.Context(), name(key))
		if err != nil {
			t.Fatal(err)
		}
		found[node.Options().Addr] = key
	}
	var all []lock.Key
	for _, address := range addresses {
		key, ok := found[address]
		if !ok {
			t.Fatalf("no key for %s among %v", address, found)
		}
		all = append(all, key)
	}
	return all
}

func cluster(t *testing.T, addresses []string) *redis.ClusterClient {
	t.Helper()
	return connect(t, &redis.UniversalOptions{Addrs: addresses, IsClusterMode: true}).(*redis.ClusterClient)
}

// Two lockers want all of the keys, which live on three masters, again and again.
func severalKeysInACluster(t *testing.T) {
	addresses := testserver.RedisCluster(t)
	admin := cluster(t, addresses)
	keys := onEachMaster(t, admin, addresses)
	var both sync.WaitGroup
	for range 2 {
		l := locker(t, cluster(t, addresses), redislock.Fencing())
		both.Go(func() {
			for range 10 {
				err := l.DoAll(within(t, soon), keys, func(ctx context.Context) error {
					if n := admin.Incr(ctx, "inside").Val(); n != 1 {
						t.Errorf("%d inside", n)
					}
					for _, key := range keys {
						if token, ok := lock.TokenOf(ctx, key); !ok || token == 0 {
							t.Errorf("no fencing token of %q", key)
						}
					}
					return admin.Decr(ctx, "inside").Err()
				})
				if err != nil {
					t.Error(err)
				}
			}
			if ran, err := l.RunOnce(within(t, soon), keys[0], time.Hour, func(context.Context) error { return nil }); err != nil {
				t.Errorf("run once: %v, %v", ran, err)
			}
		})
	}
	both.Wait()
	// A lock's counter and marker are in its slot, whatever its name: otherwise the answer is CROSSSLOT.
	l := locker(t, admin, redislock.Fencing(), redislock.KeyPrefix("app:"))
	for _, key := range []lock.Key{
		lock.NewKey("ns", "{x}", "}"), lock.Int64Key("job", -1),
		lock.LiteralKey("plain"), lock.LiteralKey("jobs:{7}"), lock.LiteralKey("{7}:jobs:{8}"),
	} {
		ran, err := l.RunOnce(within(t, soon), key, time.Hour, func(ctx context.Context) error {
			if token, ok := lock.Token(ctx); !ok || token == 0 {
				t.Errorf("no fencing token of %q", key)
			}
			return nil
		})
		if !ran || err != nil {
			t.Errorf("%q: ran %v, %v", key, ran, err)
		}
	}
	for _, key := range keys {
		if n := admin.Exists(t.Context(), name(key)).Val(); n != 0 {
			t.Errorf("%q is still held", key)
		}
	}
}

// One master of three falls silent, on connections whose timeout is far beyond the TTL: the locks of
// the others are renewed all the same, and those of the silent one are lost in time.
func aSilentMaster(t *testing.T) {
	addresses := testserver.RedisCluster(t)
	keys := onEachMaster(t, cluster(t, addresses), addresses)
	oneOfSeveral(t, func() error { return silence(t, addresses, keys) })
}

// silence has the first of the masters fall silent while a key on each of them is held.
func silence(t *testing.T, addresses []string, keys []lock.Key) error {
	const life = 4 * time.Second
	proxies := make([]*faultproxy.Proxy, len(addresses))
	slots := make([]redis.ClusterSlot, len(addresses))
	for i, address := range addresses {
		proxies[i] = faultproxy.New(t, address)
		slots[i] = redis.ClusterSlot{
			Start: i * 16384 / len(addresses), End: (i+1)*16384/len(addresses) - 1,
			Nodes: []redis.ClusterNode{{Addr: proxies[i].Addr()}},
		}
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return slots, nil },
		ReadTimeout:  time.Minute,
	})
	t.Cleanup(func() { client.Close() })
	var renewals history
	l := locker(t, client, redislock.Defaults(lock.TTL(life), lock.WithObserver(&renewals)))
	var handles []*lock.Handle
	for _, key := range keys {
		handles = append(handles, acquire(t, l, key))
	}
	proxies[0].Blackhole(true)
	silent := time.Now()
	if err := ended(t, handles[0]); !errors.Is(err, lock.ErrLost) {
		t.Errorf("cause %v, want ErrLost", err)
	}
	t.Logf("lost %v after the silence began, with a TTL of %v", time.Since(silent).Round(time.Millisecond), life)
	var failed error
	time.Sleep(life / 2) // what was not renewed beside it has ended by now
	for i, h := range handles[1:] {
		err := errors.Join(context.Cause(h.Context()), h.Check(within(t, soon)), h.Release(t.Context()))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("lock on master %d: %w", i+1, err))
		}
	}
	proxies[0].Blackhole(false)
	proxies[0].Cut() // ends what the client waits for
	handles[0].Release(t.Context())
	if failed != nil {
		failed = fmt.Errorf("%w\nrenewals since the silence began:%s", failed, renewals.since(silent))
	}
	return failed
}

// history remembers the renewals.
type history struct {
	mu     sync.Mutex
	events []renewal
}

type renewal struct {
	lock.Event
	at time.Time
}

func (h *history) Observe(_ context.Context, e lock.Event) {
	if e.Kind != lock.Renewed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, renewal{e, time.Now()})
}

func (h *history) since(start time.Time) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var text strings.Builder
	for _, r := range h.events {
		fmt.Fprintf(&text, "\n%v of %q after %v: %v", r.at.Sub(start).Round(time.Millisecond), r.Keys, r.Took.Round(time.Millisecond), r.Err)
	}
	return text.String()
}
