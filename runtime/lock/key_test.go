package lock

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestKeysOfDifferentPartsDiffer(t *testing.T) {
	keys := []Key{
		NewKey("a", "b"), NewKey("ab"), NewKey("a/b"), NewKey("a", "b", ""), NewKey("a", "", "b"), NewKey("", "a", "b"),
		NewKey("a", "b/c"), NewKey("a", "b", "c"), LiteralKey("a"), NewKey("a"), Int64Key("a", 1), Int64Key("a#1", 0), Int64Key("b", 1),
	}
	for i, a := range keys {
		for j, b := range keys {
			if (i == j) != (a == b) {
				t.Errorf("keys %d and %d, %q and %q: equal is %v", i, j, a, b, a == b)
			}
			if i != j && a.Name64() == b.Name64() {
				t.Errorf("keys %d and %d, %q and %q, have the name %s", i, j, a, b, a.Name64())
			}
		}
	}
	if again := NewKey("a", "b"); again != keys[0] {
		t.Errorf("the same parts gave %v and %v", keys[0], again)
	}
}

// The values are part of the contract: replicas of different builds must agree.
func TestKeyFormsStayAsTheyAre(t *testing.T) {
	k := NewKey("billing", "Invoice 7")
	got := fmt.Sprintf("%d %s %s", k.Int64(), k.Name64(), k.HashTag())
	const want = "-5072412241371495641 billing/invoice_7:b99b2bf0f6b58327031c4e4ee0eee0e6 {billing/invoice_7:b99b2bf0f6b58327031c4e4ee0eee0e6}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInt64KeyIsTheValueItself(t *testing.T) {
	for _, v := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		if got := Int64Key("n", v).Int64(); got != v {
			t.Errorf("Int64Key(%d).Int64() = %d", v, got)
		}
	}
}

func TestName64FitsMySQL(t *testing.T) {
	fits := regexp.MustCompile(`^[a-z0-9_./-]{0,31}:[0-9a-f]{32}$`)
	for _, parts := range [][]string{{""}, {"a"}, {strings.Repeat("long", 50)}, {"ÄÖ", "\x00'\"{}"}, {"{tag}"}} {
		if name := NewKey(parts[0], parts[1:]...).Name64(); !fits.MatchString(name) {
			t.Errorf("NewKey(%q).Name64() = %q", parts, name)
		}
	}
	exact := strings.Repeat("x", 64)
	if got := LiteralKey(exact).Name64(); got != exact {
		t.Errorf("a literal name of 64 bytes became %q", got)
	}
	if got := LiteralKey(exact + "y").Name64(); !fits.MatchString(got) {
		t.Errorf("a literal name of 65 bytes became %q", got)
	}
}

func TestHashTagIsWhatRedisClusterHashes(t *testing.T) {
	for literal, want := range map[string]string{
		"plain": "{plain}", "a{b}c": "{b}", "a{}c": "{a{}c}", "a{b": "{a{b}", "{x}{y}": "{x}",
	} {
		if got := LiteralKey(literal).HashTag(); got != want {
			t.Errorf("LiteralKey(%q).HashTag() = %q, want %q", literal, got, want)
		}
	}
}

func TestCompareOrdersByPostgreSQLsValueFirst(t *testing.T) {
	keys := []Key{Int64Key("z", -5), Int64Key("a", 3), Int64Key("b", 3), Int64Key("a", 9)}
	shuffled := []Key{keys[3], keys[2], keys[0], keys[1]}
	slices.SortFunc(shuffled, Key.Compare)
	if shuffled[0] != keys[0] || shuffled[3] != keys[3] || shuffled[1].Int64() != 3 || shuffled[2].Int64() != 3 {
		t.Errorf("order is %v", shuffled)
	}
	if keys[1].Compare(keys[2]) == 0 || keys[1].Compare(keys[2]) != -keys[2].Compare(keys[1]) || keys[1].Compare(keys[1]) != 0 {
		t.Error("Compare is not an order of names with one value")
	}
}

func TestRegistryReportsTwoNamesOfOneValue(t *testing.T) {
	var r registry
	if err := errors.Join(r.check(Int64Key("orders", 7)), r.check(Int64Key("orders", 7)), r.check(Int64Key("orders", 8))); err != nil {
		t.Errorf("names that do not collide: %v", err)
	}
	err := r.check(Int64Key("emails", 7))
	if !errors.Is(err, ErrKeyCollision) || !strings.Contains(err.Error(), "orders") || !strings.Contains(err.Error(), "emails") {
		t.Errorf("two names of 7: %v", err)
	}
}

func TestRegistryIsBounded(t *testing.T) {
	var r registry
	for i := range maxNames + 10 {
		if err := r.check(Int64Key("n", int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.names) != maxNames {
		t.Errorf("%d names remembered", len(r.names))
	}
	if err := r.check(Int64Key("other", 5)); !errors.Is(err, ErrKeyCollision) {
		t.Errorf("a collision with a remembered name: %v", err)
	}
}
