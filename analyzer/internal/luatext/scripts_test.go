package luatext_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
)

// scripts.lua has the shapes that locks in the wild have. "--- " starts a script with its name,
// "--> " is what describe says of it, "--@ " what holds the lock when the server runs it.
//
//go:embed testdata/scripts.lua
var scripts string

type sample struct {
	name, text, want, store string
}

func samples(t testing.TB) (all []sample) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range strings.Split("\n"+scripts, "\n--- ")[1:] {
		name, text, _ := strings.Cut(s, "\n")
		x := sample{name: name}
		for _, line := range strings.Split(text, "\n") {
			if want, ok := strings.CutPrefix(line, "--> "); ok {
				x.want += want + "\n"
			} else if store, ok := strings.CutPrefix(line, "--@ "); ok {
				x.store = store
			} else {
				x.text += line + "\n"
			}
		}
		if seen[name] {
			t.Fatalf("two scripts are called %q", name)
		}
		seen[name] = true
		all = append(all, x)
	}
	if len(all) < 60 {
		t.Fatalf("only %d scripts", len(all))
	}
	return all
}

func TestEveryShapeOfScriptIsUnderstoodOrUnknown(t *testing.T) {
	for _, x := range samples(t) {
		t.Run(x.name, func(t *testing.T) {
			s := luatext.Parse(x.text)
			if got := describe(s); got != x.want {
				t.Errorf("got\n%swant\n%s", got, x.want)
			}
			if s.Known == strings.HasPrefix(x.name, "not understood") {
				t.Errorf("known is %t", s.Known)
			}
		})
	}
}

// describe shows all that a rule can ask.
func describe(s *luatext.Script) string {
	if !s.Known {
		return "unknown: " + strings.SplitN(s.Why, "  ", 2)[0] + "\n"
	}
	var b strings.Builder
	for _, p := range []struct {
		holds bool
		name  string
	}{
		{s.Releases(), "releases"}, {s.Renews(), "renews"}, {s.BlindDeletes(), "blind delete"},
		{s.BlindExpires(), "blind expire"}, {s.BlindSets(), "blind set"}, {s.Acquires(), "acquires"},
		{s.Acquires() && !s.AcquireExpires(), "without expiry"}, {s.Several(), "several"}, {s.Answer.Tells(), "tells"},
	} {
		if p.holds {
			b.WriteString(p.name + ", ")
		}
	}
	fmt.Fprintf(&b, "done %s, not %s\n", replies(s.Answer.Done), replies(s.Answer.Not))
	for _, a := range s.Acts {
		if a.Op != luatext.Get && a.Op != luatext.Exists && a.Op != luatext.Other {
			b.WriteString("  " + act(a) + "\n")
		}
	}
	return b.String()
}

func act(a luatext.Act) string {
	out := a.Command + " " + operand(a.Key)
	for _, o := range []luatext.Operand{a.Field, a.Value, a.TTL} {
		if o.Kind != luatext.None {
			out += " " + operand(o)
		}
	}
	if a.Unit != 0 {
		out += " " + a.Unit.String()
	}
	guards := []string{"blind", "other key", "chosen", "examined", "own", "compared", "absent"}
	out += ": " + guards[a.Guard]
	if a.Compared {
		out += " with " + operand(a.With)
	}
	if a.Part {
		out += " in part"
	}
	if a.Absent && a.Guard != luatext.WhenAbsent {
		out += " or absent"
	}
	return out
}

func operand(o luatext.Operand) string {
	switch o.Kind {
	case luatext.Const:
		return fmt.Sprintf("%q", o.Text)
	case luatext.Made:
		return "<" + o.Text + ">"
	case luatext.Unknown:
		return "?" + o.Text
	}
	return o.Text
}

func replies(rs []luatext.Reply) string {
	var out []string
	for _, r := range rs {
		out = append(out, reply(r))
	}
	if len(out) == 0 {
		return "never"
	}
	return strings.Join(out, " or ")
}

func reply(r luatext.Reply) string {
	kinds := []string{"nil", "integer", "string", "status", "error", "array", "anything"}
	text := kinds[r.Kind]
	if r.Text != "" {
		text += " " + r.Text
	}
	return text
}
