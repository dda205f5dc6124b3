package check_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/check"
)

// answer is all that a run says, and what is wrong with its packages.
func answer(t *testing.T, c check.Config) []string {
	t.Helper()
	if c.Analyzers == nil {
		c.Analyzers = append(analyzer.All(), analyzer.Sites)
	}
	c.Matters, c.Never = analyzer.Matters, analyzer.NeverMatters
	roots, graph, err := check.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	lines := told(graph)
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			lines = append(lines, p.ID+" has an error: "+e.Error())
		}
		if p.IllTyped {
			lines = append(lines, p.ID+" does not compile")
		}
	})
	return lines
}

// alike fails the test unless a run with a cache and one without have the same answer, and gives it.
func alike(t *testing.T, c check.Config) []string {
	t.Helper()
	got := answer(t, c)
	c.Cache = nil
	want := answer(t, c)
	same(t, "those without a cache", got, want)
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	return want
}

// growing is a program that changes: <name> in a file stands for one of the choices of that name.
var growing = map[string]string{
	"go.mod":     "module example.org/m\n\ngo <version>\n\nrequire example.org/other v1.0.0\n\nreplace example.org/other => ./other\n",
	"text/q.sql": "SELECT <pg>(<key>)",
	"text/text.go": `<line>package text

import _ "embed"

const Lock = "SELECT <pg>(<key>)"

const Unlock = "SELECT pg_advisory_unlock(<key>)"

//go:embed q.sql
var Query string
<broken>`,
	"on/on.go": `<line>// Package on sends.
package on

import (
	"context"
	"database/sql"

	"example.org/m/text"
)

type Runner interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type Locker interface {
	Lock(context.Context, *sql.DB) error
}

// A helper locks.
func <helper> error {
	<line>_, err := r.ExecContext(ctx, <sent>)
	return err
}

func Do[R Runner](ctx context.Context, r R, text string) (err error) {
	_, err = r.ExecContext(ctx, text)
	return
}
<broken>`,
	"hidden/hidden.go": `package hidden

import (
	"context"
	"database/sql"

	"example.org/m/on"
)
<line>
type pg struct{ *sql.DB }

func (pg) Lock(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "SELECT <pg>(<key>)")
	return err
}

func New() on.Locker { return pg{} }

type Base struct{ DB *sql.DB }

func (b *Base) Get(ctx context.Context) error { return on.Do(ctx, b.DB, "SELECT <pg>(<key>)") }

type Outer struct{ Base }

type Alias = Outer
`,
	"by/by.go": `package by

import (
	"context"
	"database/sql"

	"example.org/m/hidden"
	"example.org/m/on"
	"example.org/other"
)

type wrapper struct{ hidden.Alias }
<line>
func Wrap(db *sql.DB) *wrapper { return &wrapper{hidden.Alias{Base: hidden.Base{DB: db}}} }

func Lock(ctx context.Context, r on.Runner) error { return on.<helper'> }

func Other(ctx context.Context, db *sql.DB) error { return other.Lock(ctx, db) }
<body><broken>`,
	"by/in_test.go":   "<gone>package by\n\nimport \"example.org/m/tonly\"\n\nvar _ = tonly.Lock\n\nfunc (w *wrapper) Hold() {}\n",
	"by/out_test.go":  "<gone>package by_test\n\nimport (\n\t\"database/sql\"\n\t\"testing\"\n\n\t\"example.org/m/by\"\n\t\"example.org/m/top\"\n)\n\nfunc Test(t *testing.T) {\n\tvar db *sql.DB\n\tt.Log(by.Lock(t.Context(), db), top.F(t.Context(), db))\n}\n",
	"tonly/tonly.go":  "package tonly\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\nfunc Lock(ctx context.Context, db *sql.DB) error {\n\t_, err := db.ExecContext(ctx, \"SELECT <pg>(<key>)\")\n\treturn err\n}\n",
	"other/go.mod":    "module example.org/other\n\ngo 1.24\n",
	"other/o.go":      "package other\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\n<line>func Lock(ctx context.Context, db *sql.DB) error {\n//line elsewhere.y:<key>0\n\t_, err := db.ExecContext(ctx, \"SELECT <pg>(<key>)\")\n\treturn err\n}\n",
	"top/extra.go":    "//go:build extra\n\npackage top\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/m/on\"\n)\n\nfunc Extra(ctx context.Context, db *sql.DB) error { return on.Do(ctx, db, \"SELECT <pg>(<key>)\") }\n",
	"only/o_test.go":  "<gone>package only\n\nimport (\n\t\"database/sql\"\n\t\"testing\"\n\n\t\"example.org/m/tonly\"\n)\n\nfunc Test(t *testing.T) {\n\tvar db *sql.DB\n\tt.Log(tonly.Lock(t.Context(), db))\n}\n",
	"onlyx/o_test.go": "package onlyx_test\n\nimport (\n\t\"database/sql\"\n\t\"testing\"\n\n\t\"example.org/m/tonly\"\n)\n\nfunc Test(t *testing.T) {\n\tvar db *sql.DB\n\tt.Log(tonly.Lock(t.Context(), db))\n}\n",
	"cmd/main.go":     "package main\n\nimport (\n\t\"context\"\n\n\t\"example.org/m/top\"\n)\n\nfunc main() {\n\t<line>_ = top.F(context.Background(), nil)\n}\n",
	"top/top.go": `package top

import (
	"context"
	"database/sql"
	<import>
	"example.org/m/by"
	"example.org/m/hidden"
	"example.org/m/on"
	"example.org/m/text"
)

<line>func F(ctx context.Context, db *sql.DB) error {
	w := by.Wrap(db)
	if err := w.Get(ctx); err != nil {
		return err
	}
	defer db.ExecContext(ctx, text.Unlock)
	l := hidden.New()
	if err := l.Lock(ctx, db); err != nil {
		return err
	}
	if err := by.Other(ctx, db); err != nil {
		return err
	}
	return by.Lock(ctx, db)
}

func G(ctx context.Context, db *sql.DB, l on.Locker) error {
	if err := l.Lock(ctx, db); err != nil {
		return err
	}
	if err := on.Do(ctx, db, text.Query); err != nil {
		return err
	}
	//lint:ignore poollock because
	return on.Do(ctx, db, text.<Const>)
}

func Local(ctx context.Context, db *sql.DB) error {
	type local struct{ *sql.DB }
	return on.Do(ctx, local{db}, text.Lock)
}
<broken>`,
}

// choices are what names can stand for. Those of a name with ' go with those of the name without. A file that begins
// with gone is not there.
var choices = map[string][]string{
	"version": {"1.24", "1.25"},
	"key":     {"5", "7", "9"},
	"pg":      {"pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock", "pg_advisory_xact_lock"},
	"line":    {"", "// A line.\n", "// Two\n\t// lines.\n"},
	"helper":  {"Lock(ctx context.Context, r Runner)", "Hold(r Runner, ctx context.Context)"},
	"helper'": {"Lock(ctx, r)", "Hold(r, ctx)"},
	"sent":    {"text.Lock", "text.Query", "\"SELECT <pg>(<key>)\""},
	"Const":   {"Lock", "Unlock", "Query"},
	"import":  {"", "_ \"fmt\"\n", "_ \"example.org/m/tonly\"\n"},
	"broken":  {"", "", "", "var broken int = \"\"\n", "func {\n", "func Broken() { undefined() }\n", "import \"late\"\n"},
	"body":    {"", "func same() {}\n", "func Same() int { return 1 }\n"},
	"gone":    {"", gone},
}

const gone = "gone"

// state says which of its choices each name in each file stands for; names that have no file, in all files.
type state map[string]int

func (s state) write(t *testing.T, dir string) {
	t.Helper()
	for file, text := range growing {
		for range 2 { // a choice may have names in it
			for name, list := range choices {
				i, ok := s[strings.TrimSuffix(name, "'")]
				if !ok {
					i = s[file+" "+name]
				}
				text = strings.ReplaceAll(text, "<"+name+">", list[i])
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(file))
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		switch {
		case err != nil:
		case strings.HasPrefix(text, gone):
			err = os.RemoveAll(path)
		default:
			err = os.WriteFile(path, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// session is somebody who edits a program and asks what is wrong with it, always with the same cache.
type session struct {
	*rand.Rand
	check.Config
	state
	slots        []string // the keys of state
	dir          string   // of the cache
	facts, found string   // what decides about facts and findings beside the source
}

func newSession(t *testing.T, seed uint64) *session {
	s := &session{Rand: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), state: state{"helper": 0}}
	s.Config = check.Config{Dir: t.TempDir(), Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off"),
		Patterns: []string{"./..."}, Tests: true}
	for name := range s.state {
		s.slots = append(s.slots, name)
	}
	for file, text := range growing {
		for name := range choices {
			if _, shared := s.state[strings.TrimSuffix(name, "'")]; !shared && strings.Contains(text, "<"+name+">") {
				s.slots = append(s.slots, file+" "+name)
			}
		}
	}
	slices.Sort(s.slots)
	return s
}

func (s *session) pick(list ...string) string { return list[s.IntN(len(list))] }

// edit changes up to three things, and mends half of what is broken.
func (s *session) edit() {
	for range s.IntN(4) {
		slot := s.pick(s.slots...)
		s.state[slot] = s.IntN(len(choices[slot[strings.LastIndex(slot, " ")+1:]]))
	}
	for _, slot := range s.slots {
		if strings.HasSuffix(slot, " broken") && s.IntN(2) == 0 {
			s.state[slot] = 0
		}
	}
}

// ask asks for something else now and then.
func (s *session) ask() {
	s.Patterns = []string{"./..."}
	switch s.IntN(10) {
	case 0:
		s.Patterns = strings.Fields(s.pick("./top", "./by ./top", "./cmd", "./on ./text", "./by/... ./only", "example.org/other ./top"))
	case 1:
		s.Tests, s.BuildFlags = s.IntN(3) > 0, strings.Fields(s.pick("", "-tags=extra"))
	case 2:
		s.facts = s.pick("", "other")
	case 3:
		s.found = s.pick("", "other")
	}
}

// damage takes files of the cache away, or parts of them.
func (s *session) damage(t *testing.T) {
	list := entries(t, s.dir, "-")
	for range min(len(list), s.IntN(40)) {
		path, err := s.pick(list...), error(nil)
		if s.IntN(2) == 0 {
			err = os.RemoveAll(path)
		} else if _, err = os.Stat(path); err == nil {
			err = os.Truncate(path, int64(s.IntN(50)))
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// Whatever is done to a program, and whatever is asked about it, a run with a cache says what one without says.
func TestEditsAreSeen(t *testing.T) {
	seeds, steps := 2, 14
	if long {
		seeds, steps = 24, 40
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSession(t, seed)
			most := 0
			for step := 0; step < steps && !t.Failed(); step++ {
				s.edit()
				s.ask()
				if s.IntN(8) == 0 {
					s.damage(t)
				}
				s.write(t, s.Dir)
				s.Cache = cacheIn(t, s.dir, func(p *packages.Package) string {
					if p.Name == "top" {
						return s.found
					}
					return ""
				})
				s.Cache.Facts = func() (string, error) { return s.facts, nil }
				lines := alike(t, s.Config)
				most = max(most, findings(lines))
				if t.Failed() {
					t.Logf("step %d: %q %t %q %v", step, s.Patterns, s.Tests, s.BuildFlags, s.state)
				}
			}
			if most < 10 {
				t.Errorf("%d findings are too few for the program", most)
			}
		})
	}
}

// What rules look for in a dependency is there too when that comes from the cache, and not what it was found to be
// before.
func TestDependenciesFromTheCacheAreWhole(t *testing.T) {
	const imports = "import (\n\t\"context\"\n\t\"database/sql\"\n)\n\n"
	const top = "package top\n\nimport _ \"example.org/m/dep\"\n\n" + imports
	for _, test := range []struct {
		name, want string
		files      map[string]string
	}{
		{"methods of a type that nobody can name", " | DIR/top/top.go:14:12 pg_advisory_lock is called here", map[string]string{
			"on/on.go":   "package on\n\n" + imports + "type Locker interface{ Lock(context.Context, *sql.DB) error }\n",
			"dep/dep.go": "package dep\n\n" + imports + "type locker struct{}\n\nfunc (locker) Lock(ctx context.Context, db *sql.DB) error {\n\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_lock(5)\")\n\treturn err\n}\n",
			"top/top.go": top + "import \"example.org/m/on\"\n\n\nfunc F(ctx context.Context, l on.Locker, db *sql.DB) error {\n\tif err := l.Lock(ctx, db); err != nil {\n\t\treturn err\n\t}\n\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_unlock(5)\")\n\treturn err\n}\n"}},
		{"imports that its declarations do not speak of", "Release with pglock.Unlock |", map[string]string{
			"go.mod":                     modFile + "\nrequire github.com/advisorylint/advisorylint v1.0.0\n\nreplace github.com/advisorylint/advisorylint => ./own\n",
			"own/go.mod":                 "module github.com/advisorylint/advisorylint\n\ngo 1.24\n",
			"own/runtime/pglock/lock.go": "package pglock\n",
			"dep/dep.go":                 "package dep\n\nimport _ \"github.com/advisorylint/advisorylint/runtime/pglock\"\n",
			"top/top.go":                 top + "func F(ctx context.Context, c *sql.Conn) error {\n\t_, err := c.ExecContext(ctx, \"SELECT pg_advisory_unlock(5)\")\n\treturn err\n}\n"}},
		{"mistakes in functions that nobody looked into before", "example.org/m/top does not compile", map[string]string{
			"dep/dep.go": "package dep\n\nfunc F() int { return undefined }\n",
			"top/top.go": top + "func F(ctx context.Context, db *sql.DB) error {\n\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_lock(5)\")\n\treturn err\n}\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.files["go.mod"] == "" {
				test.files["go.mod"] = modFile
			}
			c := check.Config{Dir: program(t, test.files), Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")}
			c.Cache = cacheIn(t, t.TempDir(), nothingNew)
			c.Patterns = []string{"./top"}
			alike(t, c)
			c.Patterns = []string{"./..."}
			alike(t, c)
			edit(t, c, "top/top.go", "F(", "G(")
			want := strings.ReplaceAll(test.want, "DIR", c.Dir)
			if lines := alike(t, c); !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("no %q in %q", want, lines)
			}
		})
	}
}

// A file that is something else for a while, in which it is looked at, leaves no entry for what it is before and after.
func TestWhatWasThereInBetweenIsNotKept(t *testing.T) {
	c := chain(t)
	c.Cache = cacheIn(t, t.TempDir(), nothingNew)
	const path, before, between = "example.org/m/on", "pg_advisory_lock(5)", "pg_advisory_lock(6)"
	c.Began = func(p *packages.Package) {
		if p.PkgPath == path {
			edit(t, c, "on/on.go", before, between)
		}
	}
	back := &analysis.Analyzer{Name: "back", Doc: "takes the change back", Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Path() == path {
			edit(t, c, "on/on.go", between, before)
		}
		return nil, nil
	}}
	c.Analyzers = append(analyzer.All(), analyzer.Sites, back)
	answer(t, c)
	c.Began, back.Run = nil, func(*analysis.Pass) (any, error) { return nil, nil }
	alike(t, c)
}
