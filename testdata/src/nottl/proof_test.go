package nottl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	redisv8 "github.com/go-redis/redis/v8"
	"github.com/gomodule/redigo/redis"
	redisv9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

// A process of this binary that has these in its environment sends one issue; the test kills it.
const (
	sender = "NEWSLETTER_SENDER"
	server = "NEWSLETTER_SERVER"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(sender); name != "" {
		fmt.Fprintln(os.Stderr, name, "ended:", sendIssue(name, os.Getenv(server)))
		os.Exit(1)
	}
	testserver.Main(m)
}

type program struct {
	name string
	// dies is the command in place of which its process is killed: ECHO is its work.
	dies string
	run  func(ctx context.Context, addr string, send Send) error
}

func v9(name, dies string, f func(context.Context, *redisv9.Client, string, Send) error) program {
	return program{name, dies, func(ctx context.Context, addr string, send Send) error {
		return f(ctx, client9(addr), "spring", send)
	}}
}

func viaRedigo(name, dies string, f func(context.Context, redis.Conn, string, Send) error) program {
	return program{name, dies, func(ctx context.Context, addr string, send Send) error {
		conn, err := redis.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		return f(ctx, conn, "spring", send)
	}}
}

func viaRueidis(name, dies string, f func(context.Context, rueidis.Client, string, Send) error) program {
	return program{name, dies, func(ctx context.Context, addr string, send Send) error {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
		if err != nil {
			return err
		}
		defer client.Close()
		return f(ctx, client, "spring", send)
	}}
}

func client9(addr string) *redisv9.Client {
	return redisv9.NewClient(&redisv9.Options{Addr: addr, MaxRetries: -1})
}

// own is the program's own client, over go-redis.
type own struct{ *redisv9.Client }

func (o own) SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return o.Client.SetNX(ctx, key, value, ttl).Result()
}

func closure(ctx context.Context, addr string, send Send) error {
	unlock, err := ThroughInterface(ctx, own{client9(addr)}, "spring")
	if err != nil {
		return err
	}
	return errors.Join(send(ctx), unlock())
}

func methods(ctx context.Context, addr string, send Send) error {
	i := NewIssue(redisv8.NewClient(&redisv8.Options{Addr: addr, MaxRetries: -1}), "spring")
	if got, err := i.Lock(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(send(ctx), i.Unlock(ctx))
}

func shortIssue(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	return Sometimes(ctx, client, issue, false, send)
}

func longIssue(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	return Sometimes(ctx, client, issue, true, send)
}

func asked(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	return Asked(ctx, client, issue, lease, send)
}

func configured(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	return (&Sender{Client: client, Lease: lease}).Send(ctx, issue, send)
}

func guarded(ctx context.Context, client *redisv9.Client, issue string, send Send) error {
	return Guarded(ctx, client, issue, 0, send)
}

// A pipeline's commands come in one write, and still one by one to the server.
var bad = []program{
	v9("Forever", "echo", Forever),
	v9("Kept", "echo", Kept),
	v9("ExpireAfterwards", "expire", ExpireAfterwards),
	v9("Piped", "pexpire", Piped),
	v9("Sometimes", "echo", shortIssue),
	v9("AcrossPackages", "echo", AcrossPackages),
	{"Issue", "echo", methods},
	viaRedigo("Redigo", "expire", Redigo),
	viaRedigo("RedigoPlain", "echo", RedigoPlain),
	viaRueidis("Rueidis", "echo", Rueidis),
	{"ThroughInterface", "echo", closure},
}

var good = []program{
	v9("InOneCommand", "echo", InOneCommand),
	v9("InArguments", "echo", InArguments),
	v9("InOneMulti", "echo", InOneMulti),
	v9("InOneScript", "echo", InOneScript),
	v9("Asked", "echo", asked),
	v9("Sender", "echo", configured),
	v9("Guarded", "echo", guarded),
	v9("SometimesLong", "echo", longIssue),
	viaRedigo("RedigoArguments", "echo", RedigoArguments),
	viaRedigo("RedigoMulti", "echo", RedigoMulti),
	viaRueidis("RueidisExpiring", "echo", RueidisExpiring),
}

// sendIssue is what the process does: its work is an ECHO.
func sendIssue(name, addr string) error {
	for _, p := range append(bad, good...) {
		if p.name == name {
			return p.run(context.Background(), addr, func(ctx context.Context) error {
				return client9(addr).Echo(ctx, "sending").Err()
			})
		}
	}
	return errors.New("no such program")
}

// killed starts a process that sends an issue, and kills it in place of the command at which p dies.
// It returns the key that is left.
func killed(t *testing.T, s *proof.Store, p program) (key string) {
	t.Helper()
	s.Clear()
	var child *exec.Cmd
	started := make(chan struct{})
	gate := s.InPlaceOf(p.dies, func() {
		<-started
		child.Process.Kill()
	})
	child = exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), sender+"="+p.name, server+"="+gate.Addr)
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the process ended with %v, want it killed", err)
	}
	gate.WantPassed(t)
	return s.LockKey()
}

// noExpiry is what PTTL answers for a key that has none.
const noExpiry = -1

func TestBadLeavesAKeyForEverWhenItsProcessIsKilled(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			key := killed(t, s, p)
			if ttl := s.TTL(key); ttl != noExpiry {
				t.Fatalf("%s lives for %v, want no expiry", key, ttl)
			}
			err := p.run(t.Context(), s.Addr, func(context.Context) error { return errors.New("sent") })
			if !errors.Is(err, errBusy) {
				t.Fatalf("the next process is told %v, want it shut out", err)
			}
		})
	}
}

func TestGoodLeavesAKeyThatRunsOut(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			key := killed(t, s, p)
			if ttl := s.TTL(key); ttl <= 0 || ttl > lease {
				t.Fatalf("%s lives for %v, want at most %v", key, ttl, lease)
			}
			s.Lapse(key)
			sent := errors.New("sent")
			err := p.run(t.Context(), s.Addr, func(context.Context) error { return sent })
			if !errors.Is(err, sent) || errors.Is(err, errLost) {
				t.Fatalf("the next process ends with %v, want the issue sent", err)
			}
		})
	}
}

// What go-redis sends, as the rule's page says.
func TestSetNXWithoutATimeSendsNone(t *testing.T) {
	s := proof.Redis(t)
	gate := s.Open()
	client := s.V9(gate.Addr)
	for i, ttl := range []time.Duration{0, redisv9.KeepTTL, 1500 * time.Millisecond} {
		if got, err := client.SetNX(t.Context(), fmt.Sprint("key", i), "a", ttl).Result(); err != nil || !got {
			t.Fatalf("SetNX with %d answers %v, %v", ttl, got, err)
		}
	}
	sent := slices.DeleteFunc(gate.Sent(), func(c string) bool { return !strings.HasPrefix(c, "set ") })
	want := []string{"set key0 a nx", "set key1 a keepttl nx", "set key2 a px 1500 nx"}
	if !slices.Equal(sent, want) {
		t.Errorf("go-redis sends %q, want %q", sent, want)
	}
	for _, key := range []string{"key0", "key1"} {
		if ttl := s.TTL(key); ttl != noExpiry {
			t.Errorf("%s lives for %v, want no expiry", key, ttl)
		}
	}
}

func TestMarksStayOnPurpose(t *testing.T) {
	s := proof.Redis(t)
	client := s.V9(s.Addr)
	for _, want := range []bool{true, false} {
		if first, err := Delivered(t.Context(), client, "spring", "reader"); err != nil || first != want {
			t.Fatalf("first = %v, %v; want %v", first, err, want)
		}
	}
	for want := int64(100); want < 103; want++ {
		if n, err := NextNumber(t.Context(), client, 100); err != nil || n != want {
			t.Fatalf("number %d, %v; want %d", n, err, want)
		}
	}
	if err := Halt(t.Context(), client); err != nil || s.TTL("newsletter:halted") != noExpiry {
		t.Fatalf("halted for %v, %v", s.TTL("newsletter:halted"), err)
	}
	if err := Resume(t.Context(), client); err != nil || s.Holder("newsletter:halted") != "" {
		t.Fatalf("still halted (%v)", err)
	}
}
