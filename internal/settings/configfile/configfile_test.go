package configfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/settings"
)

var rules = []string{"poollock", "lockwait", "poolerlock"}

const whole = `# what we have
rules: [default, lockwait, -poollock]
pooler: session
clients:
  - type: example.com/store.DB
    handle: pool
wrappers:
  - {func: example.com/store.Run}
  - func: example.com/store.DB.Exec
    handle: conn
    sql: 2
exclude:
  - internal/gen/**
severity:
  lockwait: info
`

func TestParseReadsEveryOption(t *testing.T) {
	file, err := Parse("x.yaml", []byte(whole), rules)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		text string
		line int
	}{
		"rules":    {"default,lockwait,-poollock", 2},
		"pooler":   {"session", 3},
		"clients":  {"example.com/store.DB=pool", 4},
		"wrappers": {"example.com/store.Run,example.com/store.DB.Exec=conn:2", 7},
		"exclude":  {"internal/gen/**", 12},
		"severity": {"lockwait=info", 14},
	} {
		if got := file.Text(name); got != want.text || file.Lines[name] != want.line {
			t.Errorf("%s is %q from line %d, want %q from line %d", name, got, file.Lines[name], want.text, want.line)
		}
	}
}

func TestParseTakesAnEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n", "{}\n"} {
		file, err := Parse("x.yaml", []byte(text), rules)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, name := range settings.Names {
			if file.Has(name) {
				t.Errorf("%q gives %s", text, name)
			}
		}
	}
}

func TestParseNamesThePlaceAndTheWayOut(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [poolock]":                                  `x.yaml:1: rules: there is no rule "poolock"; is it poollock?`,
		"rules:\n- default\n- lockwiat":                     `x.yaml:3: rules: there is no rule "lockwiat"; is it lockwait?`,
		"\nrules: default":                                  `x.yaml:2: rules is "default": want a list, [default, lockwait]`,
		"rules:":                                            `x.yaml:1: rules has no value: give one, [default, lockwait], or leave it out`,
		"rules: []":                                         `x.yaml:1: rules has no value`,
		"rules: [1]":                                        `x.yaml:1: an item of rules is "1": want [default, lockwait]`,
		"rules: [[default]]":                                `x.yaml:1: an item of rules is a list`,
		"rule: [default]":                                   `x.yaml:1: there is no option "rule": there are rules, pooler, clients, wrappers, exclude, severity`,
		"rules: [all]\nrules: [all]":                        `x.yaml:2: rules stands in line 1 already`,
		"pooler: pgbouncer":                                 `x.yaml:1: pooler: "pgbouncer" is not one of transaction, session, none`,
		"pooler: [session]":                                 `x.yaml:1: pooler is a list: want transaction`,
		"pooler: true":                                      `x.yaml:1: pooler is "true": want transaction`,
		"clients: [{type: DB, handle: pool}]":               `x.yaml:1: clients: "DB" is not a type with its import path: want example.com/store.DB`,
		"clients:\n- type: a.b/c.D\n  handle: lake":         `x.yaml:3: clients: "lake" is not one of pool, conn, session, tx`,
		"clients:\n- type: a.b/c.D\n  kind: pool":           `x.yaml:3: there is no key "kind": there are type, handle`,
		"clients: [a.b/c.D]":                                `x.yaml:1: an item of clients is "a.b/c.D": want [{type:`,
		"wrappers:\n- func: a.b/c.F\n  sql: first":          `x.yaml:3: wrappers.sql is "first": want [{func:`,
		"wrappers:\n- func: a.b/c.F\n  sql: -1":             `x.yaml:3: wrappers: arguments are counted from 0`,
		"wrappers:\n- func: (*a.b/c.D).F":                   `x.yaml:2: wrappers: "(*a.b/c.D).F" is not a function with its import path`,
		"exclude: ['gen/[']":                                `x.yaml:1: exclude: "gen/[" is no pattern`,
		"severity:\n  poollock: error\n  lockwait: loud":    `x.yaml:3: severity: "loud" is not one of error, warning, info`,
		"severity: {poolock: error}":                        `is it poollock?`,
		"severity: [poollock]":                              `x.yaml:1: severity is a list: want {lockwait: info}`,
		"- rules":                                           `x.yaml:1: a list: want options such as rules: [default]`,
		"rules: [default\npooler: none":                     `x.yaml:1: not YAML: did not find expected`,
		"rules: [default]\n---\nrules: [default]":           `x.yaml:2: a second document: the file has one`,
		"x: &x [poollock]\nrules: *x":                       `x.yaml:1: there is no option "x"`,
		"rules: *nowhere":                                   `not YAML: unknown anchor`,
		"severity: &s\n  poollock: error\n  poollock: info": `x.yaml:3: poollock stands in line 2 already`,
	} {
		_, err := Parse("x.yaml", []byte(text), rules)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("rules: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x.yaml", []byte(text), rules)
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v and error %v", file, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of two lines: %v", err)
		}
	})
}

// tree writes files, by path, into a new directory and gives its name.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindLooksUpwardFromTheModuleRoot(t *testing.T) {
	root := tree(t, map[string]string{
		".advisorylint.yaml":         "pooler: none",
		"a/go.mod":                   "module a",
		"a/sub/.advisorylint.yaml":   "pooler: session", // below the root: not looked at
		"a/sub/deep/x.go":            "",
		"b/go.mod":                   "module b",
		"b/.advisorylint.yaml":       "pooler: transaction",
		"b/inner/go.mod":             "module b/inner",
		"b/inner/x.go":               "",
		"c/go.mod":                   "module c",
		"c/.advisorylint.yml":        "pooler: none",
		"d/go.mod":                   "module d",
		"d/.advisorylint.yaml/x.txt": "a folder of that name",
	})
	for dir, want := range map[string]string{
		"a/sub/deep": "none",
		"b":          "transaction",
		"b/inner":    "transaction",
		"c":          ".advisorylint.yml: the file's name is .advisorylint.yaml: rename it",
		"d":          ".advisorylint.yaml: cannot be read: is a directory",
	} {
		file, err := Find(filepath.Join(root, dir), rules)
		switch {
		case err != nil:
			if !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v", dir, err)
			}
		case file == nil || file.Pooler != want:
			t.Errorf("%s: got %+v, want pooler %s", dir, file, want)
		}
	}
}

func TestDigestCoversTheWorkspace(t *testing.T) {
	t.Setenv("GOWORK", "")
	root := tree(t, map[string]string{
		"go.work":  "go 1.26\nuse (\n\t./a\n\t./b\n)\n",
		"a/go.mod": "module a", "b/go.mod": "module b", "c/go.mod": "module c",
	})
	digest := func(dir string) string {
		t.Helper()
		d, err := Digest(filepath.Join(root, dir), rules)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	write := func(dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, dir, Name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if d := digest("a"); d != "" {
		t.Errorf("without a file the digest is %q", d)
	}
	write("a", "pooler: none")
	own := digest("a")
	write("b", "pooler: none")
	both := digest("a")
	write("b", "pooler: session")
	changed := digest("a")
	write("c", "pooler: session")
	if own == "" || both == own || changed == both || digest("a") != changed || digest("b") != changed {
		t.Errorf("digests are %q, %q with b's file, %q with b's changed, then %q", own, both, changed, digest("a"))
	}
	t.Setenv("GOWORK", "off")
	if digest("a") != own {
		t.Error("without the workspace b's file counts for a")
	}
	write("b", "pooler: maybe")
	t.Setenv("GOWORK", "")
	if _, err := Digest(filepath.Join(root, "a"), rules); err == nil || !strings.Contains(err.Error(), "b/.advisorylint.yaml:1: pooler") {
		t.Errorf("a broken file of the workspace gives %v", err)
	}
}
