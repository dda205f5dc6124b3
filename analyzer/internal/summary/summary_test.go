package summary

import (
	"bytes"
	"encoding/gob"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

func param(n int) *term.Term { return term.New(term.Param, strconv.Itoa(n), "", "") }

// whole is an effect with something in every field, so that a field which an encoding loses shows.
func whole(inner *Effect) *Effect {
	sent := term.New(term.Sent, "", "1.2", "database/sql.Result")
	return &Effect{
		Op: Give, Site: "1.2", Steps: []Step{{Posn: "p.go:3", Name: "Exec"}}, Inner: inner,
		Judged: []Judgement{{Name: "0 get_lock#0", Kind: client.Conn, Context: 1, Answer: 2, Cleanup: 3, Verdicts: 1 << 9, Faults: 4}},
		Handle: param(0), Text: term.Str("a"), Args: []*term.Term{term.Int("4"), param(1)}, Ctx: param(2), Answer: client.Row,
		Batch: []*Effect{{Op: Send, Site: "q", Text: term.Str("b")}}, Made: sent, Fn: param(3),
		Alts: []Alt{{Effects: []*Effect{{Op: End, Site: "e", Ending: client.Return, Handle: param(0)}},
			Facts: []Fact{{Cond: param(1), Val: true}}}},
		Cmd: &Cmd{Name: "Lock", Op: client.LeaseTake, Keys: []*term.Term{term.Str("k")}, Value: term.Str("v"), TTL: term.Int("5"), ByError: true, NilReply: true,
			Atomic: true, Group: param(0), Library: "example.com/lib", System: "etcd", Heed: Unheeded, Tells: true, Tends: true},
		Ending: client.CommitTx, Snapshot: true, Cleanup: InDefer, CleanupSite: "d", Dropped: true,
	}
}

func full() *Summary {
	return &Summary{
		Outcomes: []*Outcome{
			{Effects: []*Effect{whole(whole(nil))}, Results: []*term.Term{param(0), term.Nil()},
				Facts: []Fact{{Cond: param(1), Val: true}, {Cond: param(2)}}, Stores: []Store{{Loc: param(0), Val: term.Str("x")}}},
			{Exits: true},
		},
		Consumes: []*term.Term{param(4)}, Truncated: true,
	}
}

func encode(t *testing.T, s *Summary) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(s); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestEveryFieldOfAnEffectIsTried(t *testing.T) {
	e := reflect.ValueOf(*whole(whole(nil)))
	for i := range e.NumField() {
		if e.Field(i).IsZero() {
			t.Errorf("%s is empty", e.Type().Field(i).Name)
		}
	}
}

func TestEveryFieldOfACommandIsTried(t *testing.T) {
	c := reflect.ValueOf(*whole(nil).Cmd)
	for i := range c.NumField() {
		if c.Field(i).IsZero() {
			t.Errorf("%s is empty", c.Type().Field(i).Name)
		}
	}
}

func TestSummarySurvivesGob(t *testing.T) {
	want := full()
	raw := encode(t, want)
	got := new(Summary)
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(got); err != nil {
		t.Fatal(err)
	}
	sized(reflect.ValueOf(want))
	sized(reflect.ValueOf(got))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %+v, want %+v", got, want)
	}
	if !bytes.Equal(encode(t, got), raw) {
		t.Error("what came back is encoded in another way")
	}
}

// sized asks for the keys and sizes of all terms below v, which a term works out when asked.
func sized(v reflect.Value) {
	if x, ok := v.Interface().(*term.Term); ok {
		if x != nil {
			x.Walk(func(x *term.Term) bool { return x.Key() != "" && x.Size() > 0 })
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			sized(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sized(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			sized(v.Index(i))
		}
	}
}

func TestEncodingIsTheSameEachTime(t *testing.T) {
	want := encode(t, full())
	for range 5 {
		if !bytes.Equal(encode(t, full()), want) {
			t.Fatal("two encodings of one summary differ")
		}
	}
}

// A decoded summary shares nothing with the one that was encoded, and keys do not depend on it.
func TestDecodedTermsAreEqualToOnesMadeHere(t *testing.T) {
	got := new(Summary)
	if err := gob.NewDecoder(bytes.NewReader(encode(t, full()))).Decode(got); err != nil {
		t.Fatal(err)
	}
	if loc := got.Outcomes[0].Stores[0].Loc; !term.Equal(loc, param(0)) || loc.Root().Index() != 0 {
		t.Errorf("the location came back as %s", loc.Key())
	}
	if !term.Equal(term.Join(got.Consumes[0], param(4)), param(4)) {
		t.Error("a decoded parameter and the same one made here are two alternatives")
	}
}

func TestSilent(t *testing.T) {
	for name, c := range map[string]struct {
		s    *Summary
		want bool
	}{
		"nothing known":   {nil, true},
		"no way out":      {&Summary{Truncated: true}, true},
		"one way out":     {&Summary{Outcomes: []*Outcome{{}}}, false},
		"with everything": {full(), false},
	} {
		if got := c.s.Silent(); got != c.want {
			t.Errorf("%s: silent %t", name, got)
		}
	}
}

// Facts of two runs are the same bytes, wherever each run had its files.
func TestStepsAreEncodedWithoutPositions(t *testing.T) {
	encode := func(pos token.Pos) []byte {
		var buf bytes.Buffer
		s := &Summary{Outcomes: []*Outcome{{Effects: []*Effect{{Steps: []Step{{pos, "a.go:3", "f"}, {pos + 7, "b.go:4", ""}}}}}}}
		if err := gob.NewEncoder(&buf).Encode(s); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	one := encode(12)
	if !bytes.Equal(one, encode(9000)) {
		t.Error("the position of a step is in its fact")
	}
	back := &Summary{}
	if err := gob.NewDecoder(bytes.NewReader(one)).Decode(back); err != nil {
		t.Fatal(err)
	}
	if got, want := back.Outcomes[0].Effects[0].Steps, []Step{{0, "a.go:3", "f"}, {0, "b.go:4", ""}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
