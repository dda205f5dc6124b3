package check_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/check"
)

// cacheIn keeps a cache in dir, with findings that are asked for anew when salt says so.
func cacheIn(t *testing.T, dir string, salt func(*packages.Package) string) *check.Cache {
	t.Helper()
	c, err := check.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Facts, c.Findings = func() (string, error) { return "", nil }, salt
	return c
}

func nothingNew(*packages.Package) string { return "" }

// lint runs the rules and gives what they say and the packages that were loaded from source.
func lint(t *testing.T, c check.Config) (lines, loaded []string) {
	t.Helper()
	if c.Analyzers == nil {
		c.Analyzers, c.Matters, c.Never = append(analyzer.All(), analyzer.Sites), analyzer.Matters, analyzer.NeverMatters
	}
	var mu sync.Mutex
	all, done := 0, 0
	c.Listed = func(_ []*packages.Package, n int) error { all, done = n, 0; return nil }
	c.Began = func(p *packages.Package) { mu.Lock(); defer mu.Unlock(); loaded = append(loaded, p.ID) }
	c.Done = func(*packages.Package, time.Duration) { mu.Lock(); defer mu.Unlock(); done++ }
	_, graph, err := check.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if all != done || all == 0 {
		t.Errorf("%d of %d packages are done with", done, all)
	}
	slices.Sort(loaded)
	return told(graph), loaded
}

// cached fails the test unless runs with a cache say what one without says: the first, the next, for which nothing
// has changed, and those for which some packages have.
func cached(t *testing.T, c check.Config, want []string) {
	t.Helper()
	dir := t.TempDir()
	c.Cache = cacheIn(t, dir, nothingNew)
	for range 2 {
		got, _ := lint(t, c)
		same(t, "those without a cache", got, want)
	}
	for group := range uint32(3) {
		c.Cache = cacheIn(t, dir, func(p *packages.Package) string {
			if crc32.ChecksumIEEE([]byte(p.ID))%3 == group {
				return "new"
			}
			return ""
		})
		got, _ := lint(t, c)
		same(t, "those without a cache", got, want)
	}
}

// chain is three packages, each of which needs the facts of the next.
func chain(t *testing.T) check.Config {
	return check.Config{Patterns: []string{"./..."}, Tests: true, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off"),
		Dir: program(t, map[string]string{"go.mod": modFile, "on/on.go": on, "plain/plain.go": "package plain\n",
			"by/by.go":     "package by\n\nimport (\n\t\"context\"\n\n\t\"example.org/m/on\"\n)\n\nfunc Lock(ctx context.Context, r on.Runner) error { return on.Lock(ctx, r) }\n",
			"by/x_test.go": "package by\n\nvar _ = Lock\n",
			"top/top.go":   "package top\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/m/by\"\n)\n\nfunc F(ctx context.Context, db *sql.DB) error { return by.Lock(ctx, db) }\n",
		})}
}

func edit(t *testing.T, c check.Config, file, from, to string) {
	t.Helper()
	path := filepath.Join(c.Dir, filepath.FromSlash(file))
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%s: %v, or no %q in it", file, err, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// What has not changed is not looked at; what has is, with all that imports it.
func TestOnlyWhatChangedIsLookedAt(t *testing.T) {
	c := chain(t)
	c.Cache = cacheIn(t, t.TempDir(), nothingNew)
	const m = "example.org/m/"
	steps := []struct {
		file, from, to string
		loaded         []string
	}{
		{"", "", "", nil},
		{"plain/plain.go", "package", "// Package plain is plain.\npackage", []string{m + "plain"}},
		{"top/top.go", "F(", "G(", []string{m + "top"}},
		{"by/x_test.go", "Lock", "(Lock)", []string{m + "by [" + m + "by.test]"}},
		{"by/by.go", "Lock(ctx, r) }", "Lock(ctx, r)  }", []string{m + "by", m + "by [" + m + "by.test]", m + "top"}},
		{"on/on.go", "(5)", "(6)", []string{m + "by", m + "by [" + m + "by.test]", m + "on", m + "top"}},
		{"on/on.go", "(6)", "(5)", []string{m + "by", m + "by [" + m + "by.test]", m + "on", m + "top"}},
		{"go.mod", "go 1.24", "go 1.25", []string{m + "by", m + "by [" + m + "by.test]", m + "on", m + "plain", m + "top"}},
	}
	lint(t, c)
	for i, step := range steps {
		if step.file != "" {
			edit(t, c, step.file, step.from, step.to)
		}
		got, loaded := lint(t, c)
		if i == 6 { // it is as it was two steps before
			step.loaded = nil
		}
		if !slices.Equal(loaded, step.loaded) {
			t.Errorf("after %s: %q were looked at, want %q", step.file, loaded, step.loaded)
		}
		plain := c
		plain.Cache = nil
		want, all := lint(t, plain)
		same(t, "those without a cache", got, want)
		if findings(want) != 1 || len(all) < 20 {
			t.Errorf("without a cache %d findings, %d packages looked at", findings(want), len(all))
		}
	}
}

// A run that is told other things does not take answers for its own.
func TestOtherQuestionsHaveOtherAnswers(t *testing.T) {
	c := chain(t)
	dir := t.TempDir()
	for _, facts := range []string{"one", "another", "one"} {
		c.Cache = cacheIn(t, dir, nothingNew)
		c.Cache.Facts = func() (string, error) { return facts, nil }
		lint(t, c)
	}
	if _, loaded := lint(t, c); loaded != nil {
		t.Errorf("%q are not known", loaded)
	}
	c.Cache.Facts = func() (string, error) { return "a third", nil }
	if _, loaded := lint(t, c); len(loaded) < 20 {
		t.Errorf("only %q are looked at for another program", loaded)
	}
	c.Cache.Findings = func(p *packages.Package) string { return p.Name }
	if got, loaded := lint(t, c); findings(got) != 1 || len(loaded) != 5 {
		t.Errorf("%d findings, %q looked at for other rules", findings(got), loaded)
	}
	c.Tests = false
	if _, loaded := lint(t, c); loaded != nil {
		t.Errorf("%q are not known without tests", loaded)
	}
	c.Env = append(c.Env, "GOARCH=386", "CGO_ENABLED=0")
	if _, loaded := lint(t, c); len(loaded) < 20 {
		t.Errorf("only %q are looked at for another machine", loaded)
	}
}

// Whatever happens to the files of a cache, a run says what it would say without.
func TestDamageIsMended(t *testing.T) {
	c := chain(t)
	sound := t.TempDir()
	c.Cache = cacheIn(t, sound, nothingNew)
	want, _ := lint(t, c)
	for _, damage := range []struct {
		name string
		do   func(path string) error
	}{
		{"empty", func(path string) error { return os.Truncate(path, 0) }},
		{"cut", func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()*2/3)
		}},
		{"other bytes", func(path string) error {
			data, err := os.ReadFile(path)
			for i := range data {
				data[i] ^= byte(i)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(path, data, 0o666)
		}},
		{"gone", os.Remove},
	} {
		for _, kind := range []string{"-a", "-d"} {
			t.Run(damage.name+kind, func(t *testing.T) {
				c := c
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
					t.Fatal(err)
				}
				c.Cache = cacheIn(t, dir, nothingNew)
				n := 0
				for i, path := range entries(t, dir, kind) {
					if i%2 == 0 {
						n++
						if err := damage.do(path); err != nil {
							t.Fatal(err)
						}
					}
				}
				if n < 5 {
					t.Fatalf("only %d entries to damage", n)
				}
				edit(t, c, "top/top.go", "F(", "G(")
				defer edit(t, c, "top/top.go", "G(", "F(")
				got, _ := lint(t, c)
				same(t, "those of a sound cache", got, want)
				if _, loaded := lint(t, c); loaded != nil {
					t.Errorf("%q are looked at again", loaded)
				}
			})
		}
	}
}

// entries gives the files of a cache whose names contain kind, in order of name.
func entries(t *testing.T, dir, kind string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "??", "*"+kind+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Runs that share a cache and are under way at the same time do not get in each other's way.
func TestRunsShareACache(t *testing.T) {
	c := chain(t)
	want, _ := lint(t, c)
	c.Cache = cacheIn(t, t.TempDir(), nothingNew)
	var group sync.WaitGroup
	results := make([][]string, 6)
	for i := range results {
		group.Go(func() { results[i], _ = lint(t, c) })
	}
	group.Wait()
	for _, got := range results {
		same(t, "those without a cache", got, want)
	}
	if _, loaded := lint(t, c); loaded != nil {
		t.Errorf("%q are looked at again", loaded)
	}
}

// A package that changes while it is looked at is not kept as what it was.
func TestWhatChangesUnderWayIsNotKept(t *testing.T) {
	c := chain(t)
	c.Cache = cacheIn(t, t.TempDir(), nothingNew)
	slow := &analysis.Analyzer{Name: "slow", Doc: "takes the time in which files change", Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Path() == "example.org/m/on" {
			edit(t, c, "on/on.go", "pg_advisory_lock", "pg_advisory_lock_shared")
		}
		return nil, nil
	}}
	c.Analyzers, c.Matters = append(analyzer.All(), analyzer.Sites, slow), analyzer.Matters
	lint(t, c)
	edit(t, c, "on/on.go", "pg_advisory_lock_shared", "pg_advisory_lock")
	slow.Run = func(*analysis.Pass) (any, error) { return nil, nil }
	if _, loaded := lint(t, c); !slices.Contains(loaded, "example.org/m/on") || !slices.Contains(loaded, "example.org/m/top") {
		t.Errorf("only %q are looked at", loaded)
	}
}

// A directory that cannot be one is said to be none.
func TestCacheThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "cache")} {
		if _, err := check.OpenCache(dir); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

// Nothing is compiled, not even by the go command, and cgo is not run.
func TestNothingIsCompiled(t *testing.T) {
	c := chain(t)
	compiled := t.TempDir()
	c.Env = append(c.Env, "GOCACHE="+compiled, "CGO_ENABLED=1")
	if got, _ := lint(t, c); findings(got) != 1 {
		t.Errorf("%q", got)
	}
	archives := func() (n int) {
		for _, path := range entries(t, compiled, "-d") {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(data), "!<arch>") || strings.Contains(string(data), "Code generated by cmd/cgo") {
				n++
			}
		}
		return n
	}
	if n := archives(); n > 0 {
		t.Errorf("the build cache has %d compiled packages", n)
	}
	build := exec.Command("go", "build", "./plain")
	build.Dir, build.Env = c.Dir, c.Env
	if out, err := build.CombinedOutput(); err != nil || archives() == 0 {
		t.Errorf("a package that is compiled is not seen in the build cache: %v %s", err, out)
	}
}

// What has not been used for days goes away, and what is used stays.
func TestOldEntriesAreTrimmed(t *testing.T) {
	c, dir := chain(t), t.TempDir()
	c.Cache = cacheIn(t, dir, nothingNew)
	lint(t, c)
	before := entries(t, dir, "-")
	long := time.Now().AddDate(0, 0, -30)
	for _, path := range before {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "trim.txt"), fmt.Append(nil, long.Unix()), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, loaded := lint(t, c); loaded != nil {
		t.Errorf("%q are looked at again", loaded)
	}
	after := entries(t, dir, "-")
	if len(after) == 0 || len(after) >= len(before)/2 {
		t.Errorf("of %d files, %d are left: the findings that were read, and no types", len(before), len(after))
	}
	if _, loaded := lint(t, c); loaded != nil {
		t.Errorf("after trimming, %q are looked at again", loaded)
	}
}
