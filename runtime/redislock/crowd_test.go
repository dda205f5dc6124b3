package redislock_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// enter is the critical section, watched by the server: nobody else is inside, and the fencing token
// is larger than every earlier one. It gives "" or what is wrong.
var enter = redis.NewScript(`
local wrong = ''
if redis.call('INCR', KEYS[1]) ~= 1 then wrong = wrong .. ' two inside;' end
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
if tonumber(ARGV[1]) <= last then wrong = wrong .. ' token ' .. ARGV[1] .. ' after ' .. last .. ';' end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('INCR', KEYS[3])
return wrong`)

const crowdVariable = "REDISLOCK_TEST_CROWD"

// crowd takes the lock rounds times in each goroutine. Every second goroutine has a Locker of its own.
func crowd(t *testing.T, address string, goroutines, rounds int) {
	client := connect(t, &redis.UniversalOptions{Addrs: []string{address}, PoolSize: 50})
	shared := locker(t, client, redislock.Fencing())
	key := lock.NewKey("crowd")
	var all sync.WaitGroup
	for i := range goroutines {
		l := shared
		if i%2 == 1 {
			l = locker(t, client, redislock.Fencing())
		}
		all.Go(func() {
			for range rounds {
				err := l.Do(within(t, time.Minute), key, func(ctx context.Context) error {
					token, _ := lock.Token(ctx)
					wrong, err := enter.Run(ctx, client, []string{"inside", "token", "count"}, token).Text()
					if wrong != "" {
						t.Errorf("violation:%s", wrong)
					}
					if err != nil {
						return err
					}
					return client.Decr(ctx, "inside").Err()
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// processes runs crowds in several processes at once.
func processes(t *testing.T, n, goroutines, rounds int) {
	if order := os.Getenv(crowdVariable); order != "" {
		var address string
		fmt.Sscan(order, &address, &goroutines, &rounds)
		crowd(t, address, goroutines, rounds)
		return
	}
	noLeaks(t)
	address := testserver.Redis(t)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), crowdVariable+"="+strings.Join([]string{address, strconv.Itoa(goroutines), strconv.Itoa(rounds)}, " "))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	client := single(t, address)
	if got, want := client.Get(t.Context(), "count").Val(), strconv.Itoa(n*goroutines*rounds); got != want {
		t.Errorf("%s rounds, want %s", got, want)
	}
	if n := client.Exists(t.Context(), name(lock.NewKey("crowd"))).Val(); n != 0 {
		t.Error("the lock is still there")
	}
}

func TestCrowdOfProcessesNeverMeetsInside(t *testing.T) { processes(t, 3, 6, 10) }
