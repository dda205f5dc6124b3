package scripttext

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// cached is the number of texts that the server keeps.
func cached(t *testing.T, rdb *goredis.Client) int {
	info, err := rdb.InfoMap(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(info["Memory"]["number_of_cached_scripts"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func nothing(context.Context) error { return nil }

// loans is how often each program lends.
const loans = 10

// lender gives Lend, one renewal and a return as one program.
func lender(s *proof.Store, prolong func(*Lender, context.Context, string, time.Duration) error, giveBack func(*Lender, context.Context, string) error) func(tool string) error {
	l := NewLender(s.V9(s.Addr))
	return func(tool string) error {
		ctx := context.Background()
		if err := l.Lend(ctx, tool); err != nil {
			return err
		}
		return errors.Join(prolong(l, ctx, tool, time.Minute), giveBack(l, ctx, tool))
	}
}

// grown says by how many texts the server's cache has grown after a number of loans of two tools.
func grown(t *testing.T, s *proof.Store, lend func(tool string) error) int {
	t.Helper()
	rdb := s.V9(s.Addr)
	before := cached(t, rdb)
	for i := range loans {
		if err := lend(fmt.Sprintf("drill-%d", i%2)); err != nil {
			t.Fatal(err)
		}
	}
	return cached(t, rdb) - before
}

func TestBadFillsTheServersCache(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, test := range map[string]struct {
		lend func(tool string) error
		want int
	}{
		"formatted": {func(tool string) error { return Formatted(context.Background(), rdb, tool, nothing) }, loans},
		"redigo":    {func(tool string) error { return Redigo(s.Redigo(s.Addr), tool, func() error { return nil }) }, loans},
		"rueidis":   {func(tool string) error { return Rueidis(context.Background(), s.Rueidis(s.Addr), tool, nothing) }, loans},
		// A text for each renewal, and one for each tool.
		"methods": {lender(s, (*Lender).Prolong, (*Lender).Return), loans + 2},
	} {
		t.Run(name, func(t *testing.T) {
			if n := grown(t, s, test.lend); n != test.want {
				t.Fatalf("texts kept after %d loans = %d, want %d", loans, n, test.want)
			}
		})
	}
}

func TestGoodIsKeptOnce(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for name, test := range map[string]struct {
		lend func(tool string) error
		most int // texts that the program has
	}{
		"passed":  {func(tool string) error { return Passed(context.Background(), rdb, tool, nothing) }, 1},
		"redigo":  {func(tool string) error { return RedigoPassed(s.Redigo(s.Addr), tool, func() error { return nil }) }, 1},
		"rueidis": {func(tool string) error { return RueidisPassed(context.Background(), s.Rueidis(s.Addr), tool, nothing) }, 1},
		"methods": {lender(s, (*Lender).ProlongPassed, (*Lender).ReturnPassed), 2},
		"one of two": {lender(s, func(l *Lender, ctx context.Context, tool string, _ time.Duration) error {
			return l.End(ctx, tool, false)
		},
			func(l *Lender, ctx context.Context, tool string) error { return l.End(ctx, tool, true) }), 2},
	} {
		t.Run(name, func(t *testing.T) {
			if n := grown(t, s, test.lend); n > test.most {
				t.Fatalf("texts kept after %d loans = %d, want %d at most", loans, n, test.most)
			}
		})
	}
	if n, err := Tidy(t.Context(), rdb, 1); n != 0 || err != nil {
		t.Fatalf("tidied %d, %v", n, err)
	}
}

// A name with a quotation mark in it ends the string that it stands in, and the rest is run. This one
// frees the hammer and takes the tool whoever has it: NX is in what has become a comment.
const clever = `me" .. redis.call("DEL", "tool:lock:hammer")) --`

func TestBadRunsAValue(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	s.MustTake(lockKey("hammer"), "another")
	s.MustTake(lockKey("saw"), "another")
	if err := Named(t.Context(), rdb, "saw", clever); err != nil {
		t.Fatal(err)
	}
	if hammer, saw := s.Holder(lockKey("hammer")), s.Holder(lockKey("saw")); hammer != "" || saw != "me1" {
		t.Fatalf("hammer is %q's and saw %q's, want the value's code run", hammer, saw)
	}
	if err := NamedReturn(t.Context(), rdb, "saw", `" or true then return redis.call("DEL", KEYS[1]) end --`); err != nil {
		t.Fatal(err)
	}
	if holder := s.Holder(lockKey("saw")); holder != "" {
		t.Fatalf("the saw is %s's, want it freed by who never had it", holder)
	}
}

func TestGoodStoresAValue(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	s.MustTake(lockKey("hammer"), "another")
	if err := NamedPassed(t.Context(), rdb, "saw", clever); err != nil {
		t.Fatal(err)
	}
	if holder := s.Holder(lockKey("saw")); holder != clever {
		t.Fatalf("holder is %q, want the name as it is", holder)
	}
	if holder := s.Holder(lockKey("hammer")); holder != "another" {
		t.Fatalf("the hammer is %q's, want it left alone", holder)
	}
	if err := NamedPassed(t.Context(), rdb, "saw", "me"); !errors.Is(err, errBusy) {
		t.Fatalf("lent twice: %v, want %v", err, errBusy)
	}
}
