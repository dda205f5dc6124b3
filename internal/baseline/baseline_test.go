package baseline

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var (
	take = Entry{"poollock", "stock/count.go", "(*Shelf).Take", `db.Exec(ctx, "SELECT pg_advisory_lock('x')")`}
	give = Entry{"unlockresult", "stock/köln 1.go", "Give", "db.Exec(`SELECT\n\t1`)"}
	none = Entry{Rule: "poollock", File: "../a: b.go"}
)

const written = header + explanation + `version: 1
findings:
  - {rule: poollock, file: '../a: b.go'}
  - {rule: poollock, file: stock/count.go, in: (*Shelf).Take, at: 'db.Exec(ctx, "SELECT pg_advisory_lock(''x'')")', count: 2}
  - {rule: unlockresult, file: 'stock/köln 1.go', in: Give, at: "db.Exec(` + "`SELECT\\n\\t1`" + `)"}
`

func TestFormat(t *testing.T) {
	for _, found := range [][]Entry{{take, give, take, none}, {none, take, take, give}} {
		if got := string(Of(found).Format()); got != written {
			t.Errorf("got\n%s\nwant\n%s", got, written)
		}
	}
	b, err := Parse([]byte(written))
	want := []Known{{none, 1, 6}, {take, 2, 7}, {give, 1, 8}}
	if err != nil || !slices.Equal(b.Known, want) {
		t.Errorf("got %v, error %v, want %v", b, err, want)
	}
	if !Is([]byte(written)) || Is([]byte("version: 1\n")) {
		t.Error("the header does not tell a baseline from other files")
	}
}

// Whoever reads YAML reads the same text, and no number, truth or nothing.
func TestQuotedTextIsTextInYAML(t *testing.T) {
	for _, text := range []string{
		"Take", "null", "True", "no", "~", "12", "1e3", "0x1F", ".inf", "a: b", "a #b", "#a", "- a", "[a]", "{a}", "a, b", "(*Shelf).Take", "&a", "*a", "!a", "|", "it's", "'", "\"", "\\", "a\nb", "\x00", "köln", "\u2028", " a ", "",
	} {
		var got []any
		if err := yaml.Unmarshal([]byte("["+quote(text)+"]"), &got); err != nil || len(got) != 1 || got[0] != text {
			t.Errorf("%q is written %s and read %q, error %v", text, quote(text), got, err)
		}
	}
}

func TestEmptyBaseline(t *testing.T) {
	text := Of(nil).Format()
	b, err := Parse(text)
	if err != nil || len(b.Known) != 0 || !strings.HasSuffix(string(text), "findings: []\n") {
		t.Errorf("got %v, error %v\n%s", b, err, text)
	}
}

func TestSplit(t *testing.T) {
	b := Of([]Entry{take, take, give, none})
	known, left := b.Split([]Entry{take, give, take, take, {Rule: "poollock", File: "new.go"}})
	if want := []bool{true, true, true, false, false}; !slices.Equal(known, want) {
		t.Errorf("known are %v, want %v", known, want)
	}
	if want := []Known{{none, 1, 0}}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	known, left = b.Split([]Entry{take})
	if want := []Known{{none, 1, 0}, {take, 1, 0}, {give, 1, 0}}; !slices.Equal(known, []bool{true}) || !slices.Equal(left, want) {
		t.Errorf("known are %v, left are %v, want %v", known, left, want)
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	item := func(text string) string { return "version: 1\nfindings:\n  - " + text + "\n" }
	for text, want := range map[string]string{
		"":                                      "it is empty",
		"# nothing\n":                           "it is empty",
		"version: 1\nfindings: [\n":             "line 2: not YAML: ",
		"a\n":                                   "line 1: there is no version in it: it is no baseline",
		"findings: []\n":                        "line 1: there is no version in it: it is no baseline",
		"version: one\nfindings: []\n":          "line 1: want a whole number from 1 up",
		"entries: 3\nversion: 2\n":              "line 2: version 2 is that of a newer advisorylint, and this one reads version 1",
		"version: 1\n":                          "findings is no list",
		"version: 1\nfindings: {}\n":            "line 2: findings is no list",
		"version: 1\nrules: []\n":               `line 2: there is no key "rules": there are version, findings`,
		"version: 1\nversion: 1\n":              "line 2: version is there twice",
		"version: 1\nfindings: []\n---\n":       "line 3: a second document: the file has one",
		item("poollock"):                        "line 3: want rule: and so on",
		item("{rule: poollock}"):                "line 3: a finding without its file",
		item("{file: a.go}"):                    "line 3: a finding without its rule",
		item("{rule: [a], file: a.go}"):         "line 3: rule is no text",
		item("{rule: a, file: /a.go}"):          `line 3: "/a.go" is absolute: files are named from the baseline's directory`,
		item("{rule: a, file: a.go, count: 0}"): "line 3: want a whole number from 1 up",
		item("{rule: a, file: a.go, line: 3}"):  `line 3: there is no key of a finding "line": there are rule, file, in, at, count`,
		item("{rule: a, file: a.go}\n  - {file: a.go, rule: a, count: 2}"): "line 4: the entry of line 3 once more: it has a count for that",
	} {
		b, err := Parse([]byte(text))
		if b != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, error %v, want %s", text, b, err, want)
		}
	}
}

// The page's example is a baseline, and laid out as one is written.
func TestThePageShowsABaseline(t *testing.T) {
	page, err := os.ReadFile("../../docs/baseline.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	b, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	var found []Entry
	for _, k := range b.Known {
		found = append(found, slices.Repeat([]Entry{k.Entry}, k.Count)...)
	}
	if got := strings.TrimPrefix(string(Of(found).Format()), header+explanation); got != example || len(b.Known) < 2 {
		t.Errorf("got\n%s\nwant\n%s", got, example)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(written)
	f.Add("version: 1\nfindings: &a [*a]\n")
	f.Add("version: 1\nfindings:\n  - {rule: \"\\x00\", file: null, in: '~', at: \"\\uFEFF\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse([]byte(text))
		if (b == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", b, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of two lines: %v", err)
			}
			return
		}
		again, err := Parse(b.Format())
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, b.Format())
		}
		for _, b := range []*Baseline{b, again} {
			for i := range b.Known {
				b.Known[i].Line = 0
			}
		}
		if len(b.Known)+len(again.Known) > 0 && !reflect.DeepEqual(b, again) {
			t.Errorf("got %v, want %v", again, b)
		}
	})
}
