package findings

import (
	"bytes"
	"flag"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/findings/sarif/sariftest"
)

var update = flag.Bool("update", false, "write what the formats give to testdata")

// The files of the shop, whose names and lines have what formats must escape and count.
const (
	lager = "lager/köln 1.go"
	odd   = "odd/a,b:c 50%#?.go"
)

var shopFiles = map[string]string{
	lager: "package lager\n\nimport (\n\t\"context\"\n)\n\n" +
		"func å𝛼(db DB) { /* 𝛼𝛼é */ db.Exec(\"SELECT pg_advisory_lock(31)\") }\n" +
		"\tdb.Exec(`SELECT\n\t\tpg_advisory_lock(𝛼)`)\n",
	odd: "package odd\r\n\r\nvar _, _ = wait(db), wait(db)\r\n",
}

// shop is a run over the files, in a directory whose name has a space.
func shop(t *testing.T) *Run {
	tmp := t.TempDir()
	dir, cache := filepath.Join(tmp, "shop floor"), filepath.Join(tmp, "mod")
	write := func(path, text string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, text := range shopFiles {
		write(filepath.Join(dir, name), text)
	}
	dep := write(filepath.Join(cache, "example.org/dep@v1.2.3/dep.go"), "package dep\n\nvar q = db.Query\n")
	outside := write(filepath.Join(tmp, "outside.go"), "package outside\n\nvar q = db.Query\n")

	var s Sources
	in := func(path, text string, nth int) Span { return find(t, &s, path, text, nth) }
	k, o := filepath.Join(dir, lager), filepath.Join(dir, odd)
	lock := in(k, `db.Exec("SELECT pg_advisory_lock(31)")`, 1)
	list := []Finding{{
		Rule: "poollock", Span: lock,
		Message: "100% of {locks} run on handlers[i](ctx), a \"pool\":\tuse <pglock.Do> & wait",
		Related: []Step{
			{in(dep, "db.Query", 1), "pg_advisory_lock is sent here"},
			{in(dep, "db.Query", 1), "pg_advisory_lock is sent here"},
			{Span{File: outside, Start: in(outside, "db.Query", 1).Start}, "and here: {1}"},
		},
		Fixes: []Fix{{"Use a connection", []Edit{
			{empty(in(k, "\"context\"", 1)), "\"errors\"\n\t"},
			{in(k, "db.Exec(\"", 1), "conn.Exec(ctx, \""},
			{in(k, "(31)", 1), ""},
		}}},
	}, {
		Rule: "poollock", Severity: Error, Message: "over two lines", Span: in(k, "db.Exec(`SELECT\n\t\tpg_advisory_lock(𝛼)`)", 1),
	}, {
		Rule: "lockwait", Severity: Info, Message: "waits", Span: in(o, "wait(db)", 1),
	}, {
		Rule: "lockwait", Severity: Info, Message: "waits", Span: in(o, "wait(db)", 2),
	}, {
		Rule: "lockwait", Message: "waits", Span: lock, Suppressed: &Suppression{"lint:ignore", "capped {at} one"},
	}, {
		Rule: "poollock", Message: "runs", Span: in(dep, "q = db.Query", 1), Suppressed: &Suppression{Kind: "nolint"},
	}}
	for i, f := range list {
		list[i].Line = s.Line(f.Span.File, f.Span.Start.Line)
	}
	return &Run{
		Version: "v1.4.0", Findings: list, Dir: filepath.Join(dir, "lager"),
		Roots: []Root{{"%SRCROOT%", dir}, {"%GOMODCACHE%", cache}, {"%GOROOT%", filepath.Join(tmp, "go")}},
		Rules: []Rule{
			{Name: "poollock", Summary: "of pools", About: "About pools.", Page: "# Pools {x}", PageText: "Pools {x}", URL: "https://example.org/poollock.md"},
			{Name: "lockwait", Severity: Info, Summary: "of waits", About: "About waits.", Page: "# Waits", PageText: "Waits", URL: "https://example.org/lockwait.md"},
		},
		Troubles: []string{"odd/broken.go:3:1: expected }, found\t::error::EOF, 100%"},
	}
}

// find gives the span of the nth text in a file, by counting bytes as go/token does.
func find(t *testing.T, s *Sources, path, text string, nth int) Span {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := -1
	for range nth {
		i := strings.Index(string(data)[start+1:], text)
		if i < 0 {
			t.Fatalf("no %q in %s", text, path)
		}
		start += 1 + i
	}
	at := func(offset int) token.Position {
		before := string(data[:offset])
		return token.Position{
			Filename: path, Line: 1 + strings.Count(before, "\n"), Column: offset - strings.LastIndexByte(before, '\n'),
		}
	}
	return s.Span(at(start), at(start+len(text)))
}

// empty is the place before a span.
func empty(s Span) Span {
	s.End = s.Start
	return s
}

// write gives what a format writes.
func write(t *testing.T, r *Run, format func(*Run, *bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := format(r, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func asSARIF(r *Run, out *bytes.Buffer) error      { return r.SARIF(out) }
func asGitHub(r *Run, out *bytes.Buffer) error     { return r.GitHub(out) }
func asCheckstyle(r *Run, out *bytes.Buffer) error { return r.Checkstyle(out) }

func TestFormats(t *testing.T) {
	for name, format := range map[string]func(*Run, *bytes.Buffer) error{
		"shop.sarif": asSARIF, "shop.github": asGitHub, "shop.checkstyle.xml": asCheckstyle,
	} {
		r := shop(t)
		got := strings.ReplaceAll(write(t, r, format), filepath.Dir(r.Roots[0].Dir), "/tmp")
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if line := difference(got, string(want)); line != "" {
			t.Errorf("%s: %s\n(-update writes what the format gives now)", golden, line)
		}
	}
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		return fmt.Sprintf("%d lines, want %d", len(g), len(w))
	}
	return ""
}

func TestSARIFIsValid(t *testing.T) {
	r := shop(t)
	log, problems := sariftest.Read([]byte(write(t, r, asSARIF)))
	if problems != nil {
		t.Fatal(strings.Join(problems, "\n"))
	}
	run := &log.Runs[0]
	for i, want := range []string{
		`db.Exec("SELECT pg_advisory_lock(31)")`, "db.Exec(`SELECT\n\t\tpg_advisory_lock(𝛼)`)", "wait(db)", "wait(db)",
		`db.Exec("SELECT pg_advisory_lock(31)")`, "q = db.Query",
	} {
		if got, err := sariftest.Text(run, run.Results[i].Locations[0].PhysicalLocation); got != want || err != nil {
			t.Errorf("result %d is at %q, want %q, error %v", i, got, want, err)
		}
	}
	files, err := sariftest.Fixed(run, run.Results[0].Fixes[0])
	if err != nil {
		t.Fatal(err)
	}
	fixed := strings.NewReplacer("\t\"context\"", "\t\"errors\"\n\t\"context\"", `db.Exec("`, `conn.Exec(ctx, "`, "(31)", "")
	for file, got := range files {
		if want := fixed.Replace(shopFiles[lager]); got != want {
			t.Errorf("%s is fixed to\n%s\nwant\n%s", file, got, want)
		}
	}
	if len(files) != 1 {
		t.Errorf("the fix changes %d files, want 1", len(files))
	}
}

// A run that found nothing says so by an empty list, which closes the findings of the last run.
func TestSARIFOfNothing(t *testing.T) {
	got := write(t, &Run{Version: "(devel)"}, asSARIF)
	log, problems := sariftest.Read([]byte(got))
	if problems != nil || log.Runs[0].Results == nil || !log.Runs[0].Invocations[0].ExecutionSuccessful {
		t.Errorf("problems %q in\n%s", problems, got)
	}
	if v := log.Runs[0].Tool.Driver.SemanticVersion; v != "" {
		t.Errorf("semantic version is %q", v)
	}
}

func TestFingerprintsAreStable(t *testing.T) {
	r := shop(t)
	before := r.fingerprints()
	if sorted := slices.Sorted(slices.Values(before)); len(slices.Compact(sorted)) != len(before) {
		t.Errorf("not all differ: %q", before)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Span.Start.Line, f.Span.End.Line = f.Span.Start.Line+7, f.Span.End.Line+7
		f.Message += " (reworded)"
	}
	r.Findings[2].Suppressed = &Suppression{Kind: "nolint"} // the first of two that are alike
	r.Roots[0].Dir, r.Findings = moved(r)
	if after := r.fingerprints(); !slices.Equal(after, before) {
		t.Errorf("got %q, want %q", after, before)
	}

	change := map[string]func(*Finding){
		"rule": func(f *Finding) { f.Rule = "lockwait" },
		"file": func(f *Finding) { f.Span.File += ".go" },
		"line": func(f *Finding) { f.Line += "x" },
	}
	for what, damage := range change {
		r := shop(t)
		damage(&r.Findings[1])
		if r.fingerprints()[1] == before[1] {
			t.Errorf("another %s has the same fingerprint", what)
		}
	}
}

// moved gives the directory and the findings of a checkout elsewhere.
func moved(r *Run) (string, []Finding) {
	elsewhere := filepath.Join(filepath.Dir(r.Roots[0].Dir), "elsewhere")
	list := slices.Clone(r.Findings)
	for i, f := range list {
		if rel, ok := below(r.Roots[0].Dir, f.Span.File); ok {
			list[i].Span.File = filepath.Join(elsewhere, rel)
		}
	}
	return elsewhere, list
}
