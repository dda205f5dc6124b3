//go:build long

package redislock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/faultproxy"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

func TestSuiteOnACluster(t *testing.T) {
	locktest.Run(t, suite(t, &redis.UniversalOptions{Addrs: testserver.RedisCluster(t), IsClusterMode: true}))
}

func TestSuiteBehindASentinel(t *testing.T) {
	sentinel, master := testserver.RedisSentinel(t)
	locktest.Run(t, suite(t, &redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: master}))
}

func TestGreatCrowdOfProcessesNeverMeetsInside(t *testing.T) { processes(t, 8, 25, 20) }

// Six lockers on proxies of their own suffer one fault after the other for a minute, and want one key
// all the time. At no time are two inside; tokens only grow; and at the end nothing is left.
func TestFaultsForAMinuteLetNobodyOverlap(t *testing.T) {
	noLeaks(t)
	const life = 4 * time.Second // its margin, 82 ms, is for those who leave late on a loaded machine
	address := testserver.Redis(t)
	admin := single(t, address)
	key := lock.NewKey("faults")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	var proxies []*faultproxy.Proxy
	for range 6 {
		proxy := faultproxy.New(t, address)
		proxies = append(proxies, proxy)
		client := connect(t, &redis.UniversalOptions{Addrs: []string{proxy.Addr()}, ReadTimeout: time.Second})
		l := locker(t, client, ttl(life), redislock.Fencing(), redislock.Defaults(lock.ReleaseTimeout(2*time.Second)))
		all.Go(func() { suffer(ctx, proxy) })
		all.Go(func() { keepTaking(ctx, t, l, admin, key) })
	}
	all.Wait()
	for _, proxy := range proxies {
		proxy.Blackhole(false)
		proxy.RefuseNew(false)
		proxy.Delay(0)
		proxy.DropReplies(0)
		proxy.Cut()
	}
	count, _ := admin.Get(t.Context(), "count").Int()
	t.Logf("%d times inside", count)
	if count < 50 {
		t.Errorf("only %d times inside: the test saw too little", count)
	}
	eventually(t, "nothing is left", func() bool { return admin.Exists(context.Background(), name(key)).Val() == 0 })
}

// suffer does one thing after the other to the connections of a proxy.
func suffer(ctx context.Context, proxy *faultproxy.Proxy) {
	faults := []func(){
		proxy.Cut, proxy.Reset, proxy.HalfOpen,
		func() { proxy.DropReplies(1 + rand.N(3)) },
		func() { proxy.Delay(rand.N(50 * time.Millisecond)) },
		func() { proxy.Delay(0) },
		func() { proxy.RefuseNew(true) },
		func() { proxy.Blackhole(true) },
	}
	for ctx.Err() == nil {
		faults[rand.N(len(faults))]()
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(time.Second)):
		}
		proxy.RefuseNew(false)
		if rand.N(3) > 0 { // otherwise the silence goes on, beyond the TTL now and then
			proxy.Blackhole(false)
		}
	}
}

// keepTaking holds the lock for a random time, again and again.
func keepTaking(ctx context.Context, t *testing.T, l *redislock.Locker, admin redis.UniversalClient, key lock.Key) {
	for ctx.Err() == nil {
		err := l.Do(ctx, key, func(ctx context.Context) error {
			token, _ := lock.Token(ctx)
			wrong, err := enter.Run(context.WithoutCancel(ctx), admin, []string{"inside", "token", "count"}, token).Text()
			if wrong != "" || err != nil {
				t.Errorf("violation:%s %v", wrong, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(rand.N(300 * time.Millisecond)):
			}
			return admin.Decr(context.Background(), "inside").Err()
		}, lock.Wait(5*time.Second))
		if errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrLost) {
			t.Errorf("the server had lost a lock that its holder believed in: %v", err)
		}
	}
}
