package luatext_test

import (
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
)

// FuzzParse: whatever the text, Parse ends, says the same again, and keeps to its own words.
func FuzzParse(f *testing.F) {
	for _, x := range samples(f) {
		f.Add(x.text)
	}
	f.Add(strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000))
	f.Add(strings.Repeat("do ", 5000) + strings.Repeat("end ", 5000))
	f.Add(strings.Repeat("if redis.call('get', KEYS[1]) == ARGV[1] then ", 200) + strings.Repeat("end ", 200))
	f.Add("local a = 'x' " + strings.Repeat("a = a .. a ", 100))
	f.Add("while true do local x = ARGV[1] end")
	f.Add("local t = {} t[1] = t t.t = t return t")
	f.Fuzz(func(t *testing.T, text string) {
		s := luatext.Parse(text)
		if s == nil || s.Known == (s.Why != "") {
			t.Fatalf("%+v", s)
		}
		if !s.Known && (s.Acts != nil || s.Releases() || s.Renews() || s.BlindDeletes() || s.BlindExpires() || s.BlindSets() || s.Acquires()) {
			t.Fatalf("an unknown script is known to do something: %+v", s)
		}
		if s.Releases() && s.BlindDeletes() || s.Renews() && s.BlindExpires() {
			t.Fatalf("both compared and not: %s", describe(s))
		}
		for _, a := range s.Acts {
			if a.Compared != (a.With.Kind != luatext.None) || a.Command == "" {
				t.Fatalf("malformed act %+v", a)
			}
		}
		if again := describe(luatext.Parse(text)); again != describe(s) {
			t.Fatalf("said %sthen %s", describe(s), again)
		}
	})
}
