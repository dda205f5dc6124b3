//go:build unix

package luatext_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/redis/go-redis/v9"
)

const (
	mine    = "token-of-this-caller"
	another = "token-of-somebody-else"
	ttl     = "5000" // ARGV[2]
	// before is the expiry that every key has at first. All expiries that the scripts set differ
	// from it by more than near, and no test takes as long.
	before = 10 * time.Hour
	near   = time.Hour
)

// holders are who holds the first key and the others when a script runs; "" is nobody.
var holders = [][2]string{{mine, mine}, {another, another}, {another, mine}, {mine, another}, {"", ""}}

// TestTheServerDoesWhatTheTextSays runs every script that is known, with each of the holders, and
// holds what became of the keys against what Parse said.
func TestTheServerDoesWhatTheTextSays(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: testserver.Redis(t), Protocol: 2})
	defer rdb.Close()
	counts := map[string]int{}
	for _, x := range samples(t) {
		s := luatext.Parse(x.text)
		if !s.Known {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			o := oracle{t: t, rdb: rdb, script: s, sample: x}
			for _, h := range holders {
				o.run(h)
			}
			o.verdicts(counts)
		})
	}
	// so that the table cannot lose the scripts that matter
	for what, least := range map[string]int{"releases": 40, "renews": 9, "blind delete": 6, "blind expire": 3, "acquires": 12} {
		if counts[what] < least {
			t.Errorf("%s: only %d scripts were run", what, counts[what])
		}
	}
}

type oracle struct {
	t      *testing.T
	rdb    *redis.Client
	script *luatext.Script
	sample sample
	// For each of holders that was run:
	runs []outcome
}

// outcome is what the server did to the keys.
type outcome struct {
	holders [2]string
	keys    []change
}

type change struct {
	holder                        string
	gone, renewed, written, fresh bool
	expires                       bool // afterwards
}

func (c change) any() bool { return c.gone || c.renewed || c.written || c.fresh }

type snapshot struct {
	dump string
	pttl time.Duration
}

func (o *oracle) run(h [2]string) {
	t, ctx := o.t, context.Background()
	if err := o.rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	n := max(1, o.script.Keys)
	if o.script.Iterated {
		n = max(n, 3)
	}
	var keys []string
	var was []snapshot
	for i := range n {
		k := fmt.Sprintf("lock:%d", i+1)
		keys = append(keys, k)
		o.hold(k, h[min(i, 1)])
		was = append(was, o.snapshot(k))
	}
	text := o.sample.text
	if o.sample.store == "valkey" {
		text = "local server = redis\n" + text // the server of this test knows but the old name
	}
	got, err := o.rdb.Eval(ctx, text, keys, mine, ttl).Result()
	if o.sample.store == "newer" {
		if err == nil || !strings.Contains(err.Error(), "Unknown Redis command") && !strings.Contains(err.Error(), "syntax error") {
			t.Errorf("this server is said not to have the command or option, but answers %v, %v", got, err)
		}
		return
	}
	out := outcome{holders: h}
	worked := false
	for i, k := range keys {
		c := compare(was[i], o.snapshot(k))
		c.holder = h[min(i, 1)]
		worked = worked || c.any()
		out.keys = append(out.keys, c)
		o.guarded(i+1, c)
	}
	o.runs = append(o.runs, out)
	o.answered(h, worked, got, err)
}

// hold puts the lock's value as the script expects to find it.
func (o *oracle) hold(key, token string) {
	if token == "" || o.sample.store == "none" {
		return
	}
	ctx := context.Background()
	pipe := o.rdb.TxPipeline()
	switch o.sample.store {
	case "hash":
		pipe.HSet(ctx, key, token, 1)
	case "hash owner":
		pipe.HSet(ctx, key, "owner", token)
	case "constant":
		if token == mine {
			token = "locked"
		}
		pipe.Set(ctx, key, token, 0)
	case "json":
		pipe.Set(ctx, key, fmt.Sprintf(`{"token":%q,"since":1}`, token), 0)
	default:
		pipe.Set(ctx, key, token, 0)
	}
	pipe.PExpire(ctx, key, before)
	if _, err := pipe.Exec(ctx); err != nil {
		o.t.Fatal(err)
	}
}

func (o *oracle) snapshot(key string) snapshot {
	ctx := context.Background()
	dump, err := o.rdb.Dump(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		o.t.Fatal(err)
	}
	pttl, err := o.rdb.PTTL(ctx, key).Result()
	if err != nil {
		o.t.Fatal(err)
	}
	return snapshot{dump, pttl}
}

func compare(was, is snapshot) change {
	c := change{expires: is.pttl > 0}
	switch {
	case is.dump == "":
		c.gone = was.dump != ""
	case was.dump == "":
		c.fresh = true
	default:
		c.written = was.dump != is.dump
		c.renewed = (was.pttl - is.pttl).Abs() > near
	}
	return c
}

// guarded: a key that somebody else holds is only touched by an act that Parse does not call
// compared.
func (o *oracle) guarded(index int, c change) {
	if c.holder != another || !c.any() {
		return
	}
	for _, a := range o.script.Acts {
		on := a.Key.Index == index || a.Key.Index == 0
		touches := a.Op != luatext.Get && a.Op != luatext.Exists && a.Op != luatext.Other
		if on && touches && !a.Compared && a.Guard != luatext.WhenAbsent {
			return
		}
	}
	o.t.Errorf("key %d of another holder was touched (%+v) though all acts are compared:\n%s", index, c, describe(o.script))
}

// answered: the reply is one that Parse gives for a path that did what the server did.
func (o *oracle) answered(h [2]string, worked bool, got any, err error) {
	want := o.script.Answer.Not
	if worked {
		want = o.script.Answer.Done
	}
	for _, r := range want {
		if fits(r, got, err) {
			return
		}
	}
	o.t.Errorf("held by %q: worked is %t, the server answers %#v, %v; expected %s", h, worked, got, err, replies(want))
}

func fits(r luatext.Reply, got any, err error) bool {
	if err != nil {
		if errors.Is(err, redis.Nil) {
			return r.Kind == luatext.NilReply
		}
		return r.Kind == luatext.ErrorReply
	}
	switch v := got.(type) {
	case int64:
		text := fmt.Sprint(v)
		return r.Kind == luatext.IntegerReply && (r.Text == text || r.Any && (r.Text == "" || v > 0))
	case string:
		return (r.Kind == luatext.StringReply || r.Kind == luatext.StatusReply) && (r.Any || r.Text == v)
	case []any:
		return r.Kind == luatext.ArrayReply && (r.Text == "" || len(v) > 0 && strings.Trim(r.Text, `"`) == fmt.Sprint(v[0]))
	}
	return false
}

// verdicts holds the whole of the runs against what rules ask.
func (o *oracle) verdicts(counts map[string]int) {
	if len(o.runs) == 0 {
		return
	}
	s := o.script
	ours, others, free := o.runs[0], o.runs[1], o.runs[len(o.runs)-1]
	expect := func(what string, says, seen bool) {
		if says {
			counts[what]++
			if !seen {
				o.t.Errorf("%s is said but not seen: %+v", what, o.runs)
			}
		}
	}
	lock := func(out outcome) change { return out.keys[0] }
	expect("releases", s.Releases(), (lock(ours).gone || lock(ours).written) && untouched(others))
	expect("renews", s.Renews() && !s.Releases() && !s.Acquires(), lock(ours).renewed && untouched(others))
	expect("renews", s.Renews() && s.Acquires(), (lock(ours).renewed || lock(ours).written) && untouched(others))
	expect("blind delete", s.BlindDeletes(), o.foreign(func(c change) bool { return c.gone }))
	expect("blind expire", s.BlindExpires(), o.foreign(func(c change) bool { return c.renewed || c.written }))
	expect("blind set", s.BlindSets(), o.foreign(func(c change) bool { return c.written }))
	expect("acquires", s.Acquires(), lock(free).fresh)
	if s.Acquires() && s.AcquireExpires() != lock(free).expires {
		o.t.Errorf("the acquired key has an expiry: %t, but said is %t", lock(free).expires, s.AcquireExpires())
	}
	if !s.BlindDeletes() && !s.Releases() && untouched(others) && lock(ours).gone && guards(s, luatext.Compared) {
		o.t.Error("it deletes our lock and never another's, but is not called a release")
	}
}

func guards(s *luatext.Script, g luatext.Guard) bool {
	for _, a := range s.Acts {
		if a.Op == luatext.Delete && a.Guard != g {
			return false
		}
	}
	return true
}

func untouched(out outcome) bool {
	for _, c := range out.keys {
		if c.any() {
			return false
		}
	}
	return true
}

// foreign reports whether what was done to a key of another holder in some run.
func (o *oracle) foreign(done func(change) bool) bool {
	for _, out := range o.runs {
		for _, c := range out.keys {
			if c.holder == another && done(c) {
				return true
			}
		}
	}
	return false
}
