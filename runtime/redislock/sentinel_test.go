package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// The master dies. What its replica has heard of is still locked; what it has not is lost, and its
// holder hears of it.
func aFailover(t *testing.T) {
	sentinel, master := testserver.RedisSentinel(t)
	client := connect(t, &redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: master})
	watcher := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	defer watcher.Close()
	where := func() string {
		at, err := watcher.GetMasterAddrByName(t.Context(), master).Result()
		if err != nil || len(at) != 2 {
			t.Fatalf("master %q, %v", at, err)
		}
		return at[0] + ":" + at[1]
	}
	const life = 30 * time.Second // longer than a failover takes on a machine with much else to do
	l := locker(t, client, ttl(life), redislock.Fencing())
	kept, gone := lock.NewKey("kept"), lock.NewKey("gone")
	first := acquire(t, l, kept)
	lost := acquire(t, l, gone)
	old := where()
	direct := single(t, old)
	replicas, err := watcher.Replicas(t.Context(), master).Result()
	if err != nil || len(replicas) != 1 {
		t.Fatalf("replicas %v, %v", replicas, err)
	}
	replica := single(t, replicas[0]["ip"]+":"+replicas[0]["port"])
	// A replica that is behind, as seen from the holder: it does not have the lock.
	direct.Del(t.Context(), name(gone))
	eventually(t, "the replica has one lock and not the other", func() bool {
		return replica.Exists(t.Context(), name(kept)).Val() == 1 && replica.Exists(t.Context(), name(gone)).Val() == 0
	})
	direct.ShutdownNoSave(t.Context()) // the answer is the end of the connection
	eventually(t, "another master", func() bool { return where() != old })

	if err := ended(t, lost); !errors.Is(err, lock.ErrLost) {
		t.Errorf("cause %v, want ErrLost", err)
	}
	eventually(t, "the client has found the new master", func() bool { return first.Check(within(t, time.Second)) == nil })
	if _, err := l.Acquire(within(t, soon), kept, lock.Try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("%v, want ErrNotAcquired", err)
	}
	if value := single(t, where()).Exists(t.Context(), name(kept)).Val(); value != 1 {
		t.Error("the new master does not have the lock")
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	lost.Release(t.Context())
	second := acquire(t, l, kept)
	if second.Token() <= first.Token() {
		t.Errorf("token %d after %d", second.Token(), first.Token())
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
