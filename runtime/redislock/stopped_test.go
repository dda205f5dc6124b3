//go:build unix

package redislock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// fenced writes a value with a fencing token, and refuses a token smaller than the last.
var fenced = redis.NewScript(`
local last = tonumber(redis.call('HGET', KEYS[1], 'token') or 0)
if tonumber(ARGV[1]) < last then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'value', ARGV[2])
return 1`)

const (
	holderVariable = "REDISLOCK_TEST_HOLDER"
	stoppedTTL     = time.Second
)

var stoppedKey = lock.NewKey("stopped")

// holdAndBeStopped is the other process: it holds the lock, is stopped, and says what it finds then.
func holdAndBeStopped(t *testing.T, address string) {
	client := single(t, address)
	l := locker(t, client, ttl(stoppedTTL), redislock.Fencing())
	h := acquire(t, l, stoppedKey)
	fmt.Println("holds", h.Token())
	bufio.NewReader(os.Stdin).ReadString('\n') // it is stopped in here, and goes on when there is a line
	guarded := h.Guard()
	wrote, err := fenced.Run(context.Background(), client, []string{"data"}, h.Token(), "stale").Int()
	fmt.Println("guard lost:", errors.Is(guarded, lock.ErrLost), "wrote:", wrote, err)
	h.Release(context.Background())
}

func TestAHolderThatWasStoppedSeesItFirstAndItsTokenIsRefused(t *testing.T) {
	if address := os.Getenv(holderVariable); address != "" {
		holdAndBeStopped(t, address)
		return
	}
	noLeaks(t)
	address := testserver.Redis(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAHolderThatWasStoppedSeesItFirstAndItsTokenIsRefused$")
	cmd.Env = append(os.Environ(), holderVariable+"="+address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	var stale int64
	if _, err := fmt.Sscanf(line, "holds %d", &stale); err != nil {
		t.Fatalf("the holder said %q: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	client := single(t, address)
	l := locker(t, client, ttl(time.Minute), redislock.Fencing())
	h := acquire(t, l, stoppedKey) // once the TTL is over
	if h.Token() <= stale {
		t.Errorf("token %d after %d", h.Token(), stale)
	}
	if n, err := fenced.Run(t.Context(), client, []string{"data"}, h.Token(), "new").Int(); n != 1 || err != nil {
		t.Errorf("the new holder's write: %d, %v", n, err)
	}
	fmt.Fprintln(in)
	cmd.Process.Signal(syscall.SIGCONT)
	if line, _ = lines.ReadString('\n'); strings.TrimSpace(line) != "guard lost: true wrote: 0 <nil>" {
		t.Errorf("the stopped holder said %q", line)
	}
	if value := client.HGet(t.Context(), "data", "value").Val(); value != "new" {
		t.Errorf("the data is %q", value)
	}
	if err := h.Check(within(t, soon)); err != nil {
		t.Error(err)
	}
	h.Release(t.Context())
}
