//go:build unix

package testserver

import (
	"strings"
	"testing"
	"time"
)

func TestRedisClusterServesEverySlot(t *testing.T) {
	t.Parallel()
	var addresses []string
	t.Run("use", func(t *testing.T) {
		addresses = RedisCluster(t)
		if len(addresses) != redisMasters {
			t.Fatalf("addresses %q", addresses)
		}
		// The slots of these names are 12182, 5061 and 866 of 16384, and so of different masters.
		for _, name := range []string{"foo", "bar", "hello"} {
			var stored, moved int
			for _, address := range addresses {
				switch answer := redisAsk(t, address, "SET "+name+" v"); {
				case answer == "+OK":
					stored++
				case strings.HasPrefix(answer, "-MOVED "):
					moved++
				}
			}
			if stored != 1 || moved != redisMasters-1 {
				t.Errorf("%s: stored by %d masters, redirected by %d", name, stored, moved)
			}
		}
	})
	for _, address := range addresses {
		if listens(portOf(t, address)) {
			t.Errorf("%s still listens after its test", address)
		}
	}
}

func TestRedisSentinelMakesTheReplicaMaster(t *testing.T) {
	t.Parallel()
	sentinel, name := RedisSentinel(t)
	master := func() string {
		address, err := redisDo(portOf(t, sentinel), "SENTINEL GET-MASTER-ADDR-BY-NAME "+name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(address, "\n", ":")
	}
	first := master()
	if answer := redisAsk(t, first, "SET k v"); answer != "+OK" {
		t.Fatalf("SET on the master: %q", answer)
	}
	redisDo(portOf(t, first), "SHUTDOWN NOSAVE") // it answers by hanging up
	for deadline := time.Now().Add(time.Minute); master() == first; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no other master within a minute")
		}
	}
	if answer := redisAsk(t, master(), "SET k v"); answer != "+OK" {
		t.Errorf("SET on the new master: %q", answer)
	}
}
