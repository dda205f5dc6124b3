package main

import (
	"encoding/xml"
	"fmt"
	"go/format"
	"go/token"
	"html"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/findings"
	"github.com/advisorylint/advisorylint/internal/findings/sarif"
	"github.com/advisorylint/advisorylint/internal/findings/sarif/sariftest"
)

// köln has findings behind characters of several bytes, one with a fix, and two that it keeps back.
const köln = `package stock

import (
	"context"
	"database/sql"

	"example.org/shop/locks"
)

func Count(ctx context.Context, db *sql.DB) error {
	/* 𝛼é */ return locks.Take(ctx, db)
}

func Bins(ctx context.Context, db *sql.DB) error {
	//lint:ignore poollock the pool has one connection
	return locks.Take(ctx, db)
}

func Shelves(ctx context.Context, db *sql.DB) error {
	return locks.Take(ctx, db) //nolint:poollock
}

` + free

const free = `func Free(ctx context.Context, conn *sql.Conn) error {
	/* 𝛼é */ _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock(31)")
	return err
}
`

const kölnFile = "stock/köln 1.go"

// bookshop is a module in which files have names that formats must escape, and findings have a way to them.
func bookshop(t *testing.T) string {
	return writeModule(t, map[string]string{
		kölnFile: köln,
		"locks/locks.go": `package locks

import (
	"context"
	"database/sql"
)

type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func Take(ctx context.Context, db Execer) error {
	_, err := db.ExecContext(ctx, "SELECT pg_advisory_lock(31)")
	return err
}
`,
	})
}

// readSARIF reads what a run wrote and fails when it is not as it should be.
func readSARIF(t *testing.T, text string) *sarif.Run {
	t.Helper()
	log, problems := sariftest.Read([]byte(text))
	if problems != nil {
		t.Fatalf("%s\n%s", strings.Join(problems, "\n"), text)
	}
	return &log.Runs[0]
}

// resultsOf gives the results of a rule with the text that each is about.
func resultsOf(t *testing.T, run *sarif.Run, rule string) (results []sarif.Result, texts []string) {
	t.Helper()
	for _, r := range run.Results {
		if r.RuleID == rule {
			text, err := sariftest.Text(run, r.Locations[0].PhysicalLocation)
			if err != nil {
				t.Fatal(err)
			}
			results, texts = append(results, r), append(texts, text)
		}
	}
	if len(results) == 0 {
		t.Fatalf("there is no result of %s", rule)
	}
	return results, texts
}

func TestSARIF(t *testing.T) {
	dir := bookshop(t)
	got := lintIn(t, dir, "-format=sarif", "-severity=unlockresult=error", "./...")
	got.want(t, exitFindings)
	if got.stderr != "" {
		t.Errorf("stderr is %q", got.stderr)
	}
	run := readSARIF(t, got.stdout)
	if !run.Invocations[0].ExecutionSuccessful || run.Invocations[0].Notifications != nil {
		t.Errorf("the invocation is %+v", run.Invocations[0])
	}

	pool, texts := resultsOf(t, run, "poollock")
	if want := slices.Repeat([]string{"locks.Take(ctx, db)"}, 3); !slices.Equal(texts, want) {
		t.Fatalf("poollock is at %q, want %q", texts, want)
	}
	for i, want := range [][]sarif.Suppression{
		{}, {{Kind: "inSource", Justification: "the pool has one connection"}}, {{Kind: "inSource"}},
	} {
		if !slices.Equal(pool[i].Suppressions, want) || pool[i].Level != "warning" {
			t.Errorf("result %d has suppressions %v and level %s, want %v and warning", i, pool[i].Suppressions, pool[i].Level, want)
		}
	}
	step := pool[0].RelatedLocations[0]
	at, err := sariftest.Text(run, step.PhysicalLocation)
	if want := `(ctx, "SELECT pg_advisory_lock(31)")`; at != want || err != nil {
		t.Errorf("the way is at %q, want %q, error %v", at, want, err)
	}
	if want := "pg_advisory_lock is sent here"; step.Message.Text != want {
		t.Errorf("the way says %q, want %q", step.Message.Text, want)
	}

	unread, texts := resultsOf(t, run, "unlockresult")
	if want := []string{`conn.ExecContext(ctx, "SELECT pg_advisory_unlock(31)")`}; !slices.Equal(texts, want) || unread[0].Level != "error" {
		t.Errorf("unlockresult is at %q, want %q; its level is %s", texts, want, unread[0].Level)
	}
	if level := run.Tool.Driver.Rules[unread[0].RuleIndex].DefaultConfiguration.Level; level != "error" {
		t.Errorf("the rule's level is %s", level)
	}

	writeFileIn(t, dir, kölnFile, strings.Replace(köln, "package stock\n", "// Package stock counts.\n\npackage stock\n", 1))
	moved := readSARIF(t, lintIn(t, dir, "-format=sarif", "./...").stdout)
	for i, r := range moved.Results {
		if before := run.Results[i].PartialFingerprints; !maps.Equal(r.PartialFingerprints, before) {
			t.Errorf("result %d has the fingerprint %v when lines are put in above it, want %v", i, r.PartialFingerprints, before)
		}
	}
	if len(moved.Results) != 4 {
		t.Errorf("%d results, want 4", len(moved.Results))
	}
}

// A program that applies a fix by the log's columns makes what -fix makes.
func TestSARIFFixesAsFixDoes(t *testing.T) {
	dir := writeModule(t, map[string]string{
		kölnFile: "package stock\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\n" + free,
	})
	run := readSARIF(t, lintIn(t, dir, "-format=sarif", "./...").stdout)
	if len(run.Results) != 1 || len(run.Results[0].Fixes) == 0 {
		t.Fatalf("want one result with a fix, got %+v", run.Results)
	}
	files, err := sariftest.Fixed(run, run.Results[0].Fixes[0])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, kölnFile)
	got, err := format.Source([]byte(files[file]))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	lintIn(t, dir, "-fix", "./...").want(t, exitClean, "1 fix in 1 file")
	if want := readFile(t, file); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Who reads the finding of a generated file is shown another file, which the edits do not fit.
func TestFixesOfGeneratedFilesAreLeftOut(t *testing.T) {
	for _, generated := range []bool{false, true} {
		fset := token.NewFileSet()
		file := fset.AddFile("/elsewhere/gen.go", -1, 100)
		file.SetLines([]int{0, 10, 20})
		if generated {
			file.AddLineInfo(10, "/elsewhere/gen.tmpl", 70)
		}
		edits := []analysis.TextEdit{{Pos: file.Pos(2), End: file.Pos(3)}, {Pos: file.Pos(12)}}
		got := recordEdits(fset, edits, new(findings.Sources))
		if generated && got != nil || !generated && (len(got) != 2 || got[1].Span.End != got[1].Span.Start) {
			t.Errorf("generated %t: got %+v", generated, got)
		}
	}
}

// The log lists the rules that ran and no others, with pages that hold wherever they are read.
func TestSARIFDocumentsTheRulesThatRan(t *testing.T) {
	dir := bookshop(t)
	run := readSARIF(t, lintIn(t, dir, "-format=sarif", "-rules=all,-lockwait", "./locks").stdout)
	rules := run.Tool.Driver.Rules
	if len(rules) != len(analyzer.All())-1 {
		t.Errorf("%d rules, want all but one", len(rules))
	}
	for _, r := range rules {
		a := analyzer.ByName(r.ID)
		switch {
		case r.ID == "lockwait" || a == nil:
			t.Errorf("%s is there", r.ID)
		case r.HelpURI != a.URL || r.ShortDescription.Text != summary(a) || !strings.Contains(oneLine(a.Doc), r.FullDescription.Text):
			t.Errorf("%s: help %s, %q, %q", r.ID, r.HelpURI, r.ShortDescription.Text, r.FullDescription.Text)
		case r.FullDescription.Text == "" || len(r.FullDescription.Text) > 1024: // what GitHub shows
			t.Errorf("%s: the description has %d bytes", r.ID, len(r.FullDescription.Text))
		case !strings.HasPrefix(r.Help.Markdown, "# "+r.ID+"\n") || !strings.HasPrefix(r.Help.Text, r.ID+"\n"):
			t.Errorf("%s: the page starts %.20q, as text %.20q", r.ID, r.Help.Markdown, r.Help.Text)
		}
		for _, l := range link.FindAllStringSubmatch(r.Help.Markdown, -1) {
			if !strings.HasPrefix(l[1], "https://") {
				t.Errorf("%s: the page's link %s is relative", r.ID, l[1])
			}
		}
	}
}

func writeFileIn(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The way to a finding may come from a dependency, which is elsewhere on each machine.
func TestSARIFNamesWhereDependenciesAre(t *testing.T) {
	dir, cache := bookshop(t), t.TempDir()
	locks := filepath.Join(cache, "example.org", "locks@v1.0.0")
	if err := os.MkdirAll(filepath.Dir(locks), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "locks"), locks); err != nil {
		t.Fatal(err)
	}
	writeFileIn(t, locks, "go.mod", "module example.org/locks\n\ngo 1.24\n")
	writeFileIn(t, dir, "go.mod", "module example.org/shop\n\ngo 1.24\n\nrequire example.org/locks v1.0.0\n\nreplace example.org/locks => "+locks+"\n")
	writeFileIn(t, dir, kölnFile, strings.Replace(köln, "example.org/shop/locks", "example.org/locks", 1))
	t.Setenv("GOMODCACHE", cache)
	run := readSARIF(t, lintIn(t, cache, "-C", dir, "-format=sarif", "./...").stdout)
	pool, _ := resultsOf(t, run, "poollock")
	want := sarif.ArtifactLocation{URI: "example.org/locks@v1.0.0/locks.go", URIBaseID: "%GOMODCACHE%"}
	if got := pool[0].RelatedLocations[0].PhysicalLocation.ArtifactLocation; got != want {
		t.Errorf("the way is at %+v, want %+v", got, want)
	}
	if want := "file://" + dir + "/"; run.Bases["%SRCROOT%"].URI != want {
		t.Errorf("the roots are %v, want %s for %%SRCROOT%%", run.Bases, want)
	}
}

func TestGitHubAnnotations(t *testing.T) {
	dir := bookshop(t)
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(dir))
	got := lintIn(t, dir, "-format=github", "-severity=poollock=error,unlockresult=info", "./...")
	got.want(t, exitFindings, "2 findings in 1 package; 2 packages looked at\n")
	root := filepath.Base(dir)
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	for i, want := range [][2]string{
		{"::error file=" + root + "/stock/köln 1.go,line=11,col=19,endColumn=38,title=advisorylint poollock::pg_advisory_lock runs on a pool: ",
			"%0A" + root + "/locks/locks.go:13: pg_advisory_lock is sent here"},
		{"::notice file=" + root + "/stock/köln 1.go,line=24,col=22,endColumn=76,title=advisorylint unlockresult::the answer of ", "pglock.Unlock"},
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want[0]) || !strings.HasSuffix(lines[i], want[1]) {
			t.Fatalf("want %q, got\n%s", want, got.stdout)
		}
	}
	if len(lines) != 2 {
		t.Errorf("got %d lines\n%s", len(lines), got.stdout)
	}
	// Code scanning takes relative paths for the repository's too.
	run := readSARIF(t, lintIn(t, dir, "-format=sarif", "./stock").stdout)
	if got, want := run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI, root+"/stock/k%C3%B6ln%201.go"; got != want {
		t.Errorf("the log has %s, want %s", got, want)
	}
}

func TestSourcesAreNamedByTheRepositoryInAnAction(t *testing.T) {
	for checkout, want := range map[string]string{
		"": "/src/shop", "/src": "/src", "/src/shop": "/src/shop", "/src/shop/stock": "/src/shop", "/src/sh": "/src/shop", "src": "/src/shop",
	} {
		t.Setenv("GITHUB_WORKSPACE", checkout)
		if got := sourceRoot("/src/shop"); got != want {
			t.Errorf("checked out in %q: got %s, want %s", checkout, got, want)
		}
	}
}

func TestCheckstyle(t *testing.T) {
	dir := bookshop(t)
	got := lintIn(t, filepath.Dir(dir), "-C", dir, "-format=checkstyle", "-out=report.xml", "-severity=poollock=info", "./...")
	got.want(t, exitFindings)
	if got.stdout != "" || got.stderr != "" {
		t.Errorf("more is printed than the file\n%v", got)
	}
	var report struct {
		Files []struct {
			Name   string `xml:"name,attr"`
			Errors []struct {
				Line     int    `xml:"line,attr"`
				Column   int    `xml:"column,attr"`
				Severity string `xml:"severity,attr"`
				Source   string `xml:"source,attr"`
			} `xml:"error"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal([]byte(readFile(t, dir, "report.xml")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Files) != 1 || report.Files[0].Name != kölnFile || len(report.Files[0].Errors) != 2 {
		t.Fatalf("got %+v", report)
	}
	pool, unread := report.Files[0].Errors[0], report.Files[0].Errors[1]
	if pool.Line != 11 || pool.Column != 19 || pool.Severity != "info" || pool.Source != "advisorylint.poollock" {
		t.Errorf("got %+v", pool)
	}
	if unread.Line != 24 || unread.Column != 22 || unread.Severity != "warning" || unread.Source != "advisorylint.unlockresult" {
		t.Errorf("got %+v", unread)
	}
}

// The page has what the other forms have, and each fix as -diff shows it.
func TestHTMLHasFindingsTrailsAndFixes(t *testing.T) {
	dir := bookshop(t)
	got := lintIn(t, dir, "-format=html", "-out=report.html", "-severity=poollock=error", "./...")
	got.want(t, exitFindings)
	if got.stdout != "" || got.stderr != "" {
		t.Errorf("more is printed than the file\n%v", got)
	}
	page := readFile(t, dir, "report.html")
	plain := html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(page, ""))
	for _, want := range []string{
		"2 findings in " + filepath.Base(dir), "1 package with findings", "1 finding with a fix", "2 suppressed",
		"pg_advisory_lock runs on a pool:", "stock/köln 1.go:11:22", "return locks.Take(ctx, db)",
		"pg_advisory_lock is sent here locks/locks.go:13:26", "13\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_lock(31)\")",
		"Suppressed by lint:ignore: the pool has one connection", "Suppressed by nolint",
		"A session-level lock belongs to the connection that took it",
		"2 packages looked at\nexample.org/shop/locksexample.org/shop/stock",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	diff := lintIn(t, dir, "-diff", "./...").stdout
	changed := 0
	for line := range strings.Lines(diff) {
		if (line[0] == '+' || line[0] == '-') && line[1] == '\t' {
			changed++
			if want := line[:1] + strings.TrimLeft(line[1:], "\t"); !strings.Contains(strings.ReplaceAll(plain, "\t", ""), strings.ReplaceAll(want, "\t", "")) {
				t.Errorf("the page lacks the line %q of the fix", want)
			}
		}
	}
	if changed < 2 {
		t.Errorf("-diff changes %d lines\n%s", changed, diff)
	}
}

func TestTextShowsSeveritiesThatAreChosen(t *testing.T) {
	dir := warehouse(t)
	lintIn(t, dir, "-severity=poollock=info", "./...").want(t, exitFindings, poolAt, " (poollock, info)\n")
	writeFileIn(t, dir, ".advisorylint.yaml", "severity:\n  poollock: error\n")
	got := lintIn(t, dir, "-format=github", "./...")
	if !strings.HasPrefix(got.stdout, "::error file=stock/stock.go,") {
		t.Errorf("got %q", got.stdout)
	}
}

// What is excluded is not shown as suppressed either.
func TestSARIFLeavesExcludedFilesOut(t *testing.T) {
	dir := bookshop(t)
	got := lintIn(t, dir, "-format=sarif", "-exclude=stock/**", "./...")
	got.want(t, exitClean)
	if run := readSARIF(t, got.stdout); len(run.Results) != 0 {
		t.Errorf("got %+v", run.Results)
	}
}

// Who reads findings must learn that some may be missing.
func TestFormatsTellOfPackagesThatWereNotLookedAt(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"stock/stock.go": stock,
		"odd/odd.go":     "package odd\n\nvar N int = \"{three}\"\n",
	})
	const trouble = `odd/odd.go:3:13: cannot use "{three}" (untyped string constant) as int value in variable declaration`
	for name, written := range map[string]string{
		"sarif":  `"text": "odd/odd.go:3:13: cannot use \"{{three}}\" (untyped`,
		"github": "\n::error title=advisorylint::" + trouble + "\n",
	} {
		got := lintIn(t, dir, "-format="+name, "./...")
		got.want(t, exitFailed, "advisorylint: "+trouble+"\n")
		if !strings.Contains(got.stdout, written) {
			t.Errorf("%s lacks %q\n%s", name, written, got.stdout)
		}
		if name == "sarif" {
			run := readSARIF(t, got.stdout)
			if run.Invocations[0].ExecutionSuccessful || len(run.Invocations[0].Notifications) != 1 || len(run.Results) != 1 {
				t.Errorf("the invocation is %+v, with %d results", run.Invocations[0], len(run.Results))
			}
		}
	}
}

func TestFormatJSONIsJSON(t *testing.T) {
	dir := warehouse(t)
	want := lintIn(t, dir, "-json", "./...")
	got := lintIn(t, dir, "-format", "json", "./...")
	if got != want || !strings.Contains(got.stdout, `"poollock": [`) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// The file has what it had until all of the new content is there, and a device is not replaced by a file.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "report")
	for _, content := range []string{"first", "2nd"} {
		if err := writeFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, name); got != content {
			t.Errorf("got %q, want %q", got, content)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, error %v", left, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := writeFile(fmt.Sprintf("/dev/fd/%d", w.Fd()), []byte("piped")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, err := io.ReadAll(r); string(got) != "piped" || err != nil {
		t.Errorf("the pipe gave %q, error %v", got, err)
	}
}

func TestBadFormatsAreOneClearLine(t *testing.T) {
	dir := warehouse(t)
	for args, want := range map[string]string{
		"-format=xml":                         "-format=xml: want text, html, json, sarif, github, checkstyle",
		"-format=sarif -json":                 "-json is -format=json, and there is -format=sarif: choose one",
		"-format=github -fix":                 "-format=github applies no fixes: choose it or -fix or -diff",
		"-format=json -diff":                  "-format=json applies no fixes: choose it or -fix or -diff",
		"-out=x.txt":                          "-out needs a -format other than text, which goes to standard error",
		"-format=sarif -out=nowhere/x ./bins": "-out: open nowhere/x: no such file or directory",
	} {
		got := lintIn(t, dir, strings.Fields(args)...)
		if got.code != exitFailed || got.stderr != "advisorylint: "+want+"\n" || got.stdout != "" {
			t.Errorf("%s: want %q\n%v", args, want, got)
		}
	}
	if got := vet(t, dir, "-format=sarif", "./..."); got.code == 0 || !strings.Contains(got.stderr, "-format") {
		t.Errorf("go vet takes -format\n%v", got)
	}
}
