package setnonx

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	redisv9 "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
	"github.com/advisorylint/advisorylint/testdata/src/setnonx/kv"
)

func TestMain(m *testing.M) { testserver.Main(m) }

type program struct {
	name string
	// takes is the command with which it takes its lock.
	takes string
	run   func(ctx context.Context, s *proof.Store, addr string, count Count) error
}

func v9(name, takes string, f func(context.Context, *redisv9.Client, string, Count) error) program {
	return program{name, takes, func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return f(ctx, s.V9(addr), "4", count)
	}}
}

// own is the program's own client, over go-redis.
type own struct{ *redisv9.Client }

func (o own) Get(ctx context.Context, key string) (string, error) {
	value, err := o.Client.Get(ctx, key).Result()
	if errors.Is(err, redisv9.Nil) {
		return "", nil
	}
	return value, err
}

func (o own) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	return o.Client.Set(ctx, key, value, ttl).Err()
}

func methods(ctx context.Context, s *proof.Store, addr string, count Count) error {
	c := NewClerk(s.V9(addr), "4")
	if got, err := c.TryLock(ctx); err != nil || !got {
		return errors.Join(err, errBusy)
	}
	return errors.Join(count(ctx), c.Unlock(ctx))
}

func closure(ctx context.Context, s *proof.Store, addr string, count Count) error {
	unlock, err := Lock(ctx, s.V9(addr), "4")
	if err != nil {
		return err
	}
	return errors.Join(count(ctx), unlock())
}

var bad = []program{
	v9("Plain", "set", Plain),
	v9("Looked", "set", Looked),
	{"Clerk", "setex", methods},
	{"Lock", "set", closure},
	{"AcrossPackages", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return AcrossPackages(ctx, kv.Store{Client: s.V9(addr)}, "4", count)
	}},
	{"ThroughInterface", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return ThroughInterface(ctx, own{s.V9(addr)}, "4", count)
	}},
	{"Redigo", "setex", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return Redigo(ctx, s.Redigo(addr), "4", count)
	}},
	{"V8", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return V8(ctx, s.V8(addr), "4", count)
	}},
	{"Rueidis", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return Rueidis(ctx, s.Rueidis(addr), "4", count)
	}},
}

var good = []program{
	v9("Asked", "set", Asked),
	v9("AskedInArguments", "set", AskedInArguments),
	v9("LookedFirst", "set", LookedFirst),
	v9("Watched", "multi", Watched),
	v9("Scripted", "evalsha", Scripted),
	{"RedigoAsked", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return RedigoAsked(ctx, s.Redigo(addr), "4", count)
	}},
	{"V8Asked", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return V8Asked(ctx, s.V8(addr), "4", count)
	}},
	{"RueidisAsked", "set", func(ctx context.Context, s *proof.Store, addr string, count Count) error {
		return RueidisAsked(ctx, s.Rueidis(addr), "4", count)
	}},
}

// preceded runs p, which another clerk precedes just before it takes the till. It returns who has the
// till while p counts, "" when p does not.
func preceded(t *testing.T, s *proof.Store, p program) (counting string, err error) {
	t.Helper()
	s.Clear()
	gate := s.Before(p.takes, func() { s.MustTake(lockKey("4"), "other") })
	err = p.run(t.Context(), s, gate.Addr, func(context.Context) error {
		counting = s.Holder(lockKey("4"))
		return nil
	})
	gate.WantPassed(t)
	return counting, err
}

func TestBadOverwritesTheOthersValue(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range bad {
		t.Run(p.name, func(t *testing.T) {
			counting, err := preceded(t, s, p)
			if err != nil || counting == "" || counting == "other" {
				t.Fatalf("%q counts (%v), want it in spite of the other", counting, err)
			}
			// It has even freed the till, with a comparison that is right: the other's value is gone.
			s.MustTake(lockKey("4"), "third")
		})
	}
}

func TestGoodIsRefused(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			counting, err := preceded(t, s, p)
			if counting != "" || !errors.Is(err, errBusy) {
				t.Fatalf("%q counts (%v), want %v", counting, err, errBusy)
			}
			if holder := s.Holder(lockKey("4")); holder != "other" {
				t.Fatalf("the till is %q, want it left with the other", holder)
			}
		})
	}
}

func TestGoodTakesATillThatIsFree(t *testing.T) {
	s := proof.Redis(t)
	for _, p := range good {
		t.Run(p.name, func(t *testing.T) {
			s.Clear()
			counted := false
			err := p.run(t.Context(), s, s.Addr, func(context.Context) error {
				counted = s.Holder(lockKey("4")) != ""
				return nil
			})
			if err != nil || !counted {
				t.Fatalf("counted under the lock: %v, %v", counted, err)
			}
			s.MustTake(lockKey("4"), "next")
		})
	}
}

// What go-redis sends, as the rule's page shows it.
func TestSetOfGoRedisNeverSendsNX(t *testing.T) {
	s := proof.Redis(t)
	gate := s.Open()
	client, ctx := s.V9(gate.Addr), t.Context()
	if answer, err := client.Set(ctx, "till:4:lock", "a", time.Minute).Result(); answer != "OK" || err != nil {
		t.Fatalf("Set answers %q, %v", answer, err)
	}
	if answer, err := client.Set(ctx, "till:4:lock", "b", time.Minute).Result(); answer != "OK" || err != nil {
		t.Fatalf("Set of a key that is there answers %q, %v; want OK", answer, err)
	}
	if got, err := client.SetNX(ctx, "till:4:lock", "c", time.Minute).Result(); got || err != nil {
		t.Fatalf("SetNX of a key that is there answers %v, %v; want false and no error", got, err)
	}
	args := redisv9.SetArgs{Mode: "NX", TTL: time.Minute}
	if answer, err := client.SetArgs(ctx, "till:4:lock", "d", args).Result(); answer != "" || err != redisv9.Nil {
		t.Fatalf("SetArgs of a key that is there answers %q, %v; want redis.Nil", answer, err)
	}
	sent := slices.DeleteFunc(gate.Sent(), func(c string) bool { return !strings.HasPrefix(c, "set ") })
	want := []string{
		"set till:4:lock a ex 60",
		"set till:4:lock b ex 60",
		"set till:4:lock c ex 60 nx",
		"set till:4:lock d ex 60 NX",
	}
	if !slices.Equal(sent, want) {
		t.Errorf("go-redis sends\n%q, want\n%q", sent, want)
	}
}

func TestACacheASessionAndAFlagMayBeOverwritten(t *testing.T) {
	s := proof.Redis(t)
	client, ctx, sums := s.V9(s.Addr), t.Context(), 0
	for range 2 {
		if found, err := Takings(ctx, client, "4", func(string) string { sums++; return "99.50" }); err != nil || found != "99.50" {
			t.Fatalf("takings are %q, %v", found, err)
		}
	}
	if sums != 1 {
		t.Fatalf("summed %d times, want once", sums)
	}
	older, err1 := SignIn(ctx, client, "kim")
	newer, err2 := SignIn(ctx, client, "kim")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := SignOut(ctx, client, "kim", older); !errors.Is(err, errLost) {
		t.Fatalf("the older session is ended with %v, want %v", err, errLost)
	}
	if err := SignOut(ctx, client, "kim", newer); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Suspend(ctx, client, "4"), Suspend(ctx, client, "4"), Allow(ctx, client, "4")); err != nil || s.Holder("suspended:4") != "" {
		t.Fatalf("still suspended (%v)", err)
	}
}
