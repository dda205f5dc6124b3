package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/findings/sarif"
)

// shelves has a finding in each of two functions and two that are alike in the third.
const shelves = `package stock

import (
	"context"
	"database/sql"
)

type Shelf struct{ db *sql.DB }

func Count(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "SELECT pg_advisory_lock(31)")
	return err
}

func (s *Shelf) Take(ctx context.Context) error {
	return do(func() error {
		_, err := s.db.ExecContext(ctx, "SELECT pg_advisory_lock(32)")
		return err
	})
}

func Twice(ctx context.Context, db *sql.DB) {
	db.ExecContext(ctx, "SELECT pg_advisory_lock(33)")
	db.ExecContext(ctx, "SELECT pg_advisory_lock(33)")
}

func do(f func() error) error { return f() }
`

// shelvesBaseline is the baseline of shelves as stock/shelves.go.
const shelvesBaseline = `version: 1
findings:
  - {rule: poollock, file: stock/shelves.go, in: (*Shelf).Take, at: 's.db.ExecContext(ctx, "SELECT pg_advisory_lock(32)")'}
  - {rule: poollock, file: stock/shelves.go, in: Count, at: 'db.ExecContext(ctx, "SELECT pg_advisory_lock(31)")'}
  - {rule: poollock, file: stock/shelves.go, in: Twice, at: 'db.ExecContext(ctx, "SELECT pg_advisory_lock(33)")', count: 2}
`

// racks is a module whose four findings are in its baseline.
func racks(t *testing.T) string {
	t.Helper()
	dir := writeModule(t, map[string]string{"stock/shelves.go": shelves, "bins/bins.go": "package bins\n"})
	got := lintIn(t, dir, "-write-baseline=known.yaml", "./...")
	got.want(t, exitClean)
	if want := "4 findings in 1 package written to known.yaml; 2 packages looked at\n"; got.stderr != want || got.stdout != "" {
		t.Fatalf("want %q\n%v", want, got)
	}
	return dir
}

func TestWriteBaseline(t *testing.T) {
	dir := racks(t)
	text := readFile(t, dir, "known.yaml")
	if !strings.HasPrefix(text, "# ") || !strings.HasSuffix(text, "\n"+shelvesBaseline) {
		t.Errorf("got\n%s", text)
	}
	// What is there is replaced in one step, and what belongs to no baseline is left alone.
	lintIn(t, dir, "-write-baseline=known.yaml", "./bins").want(t, exitClean, "0 findings in 0 packages written to known.yaml; 1 package looked at\n")
	if text := readFile(t, dir, "known.yaml"); !strings.HasSuffix(text, "\nversion: 1\nfindings: []\n") {
		t.Errorf("got\n%s", text)
	}
	lintIn(t, dir, "-baseline=known.yaml", "./bins").want(t, exitClean, "no findings; 1 package looked at")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 { // bins, go.mod, known.yaml, stock
		t.Errorf("the folder has %v, error %v", left, err)
	}
}

func TestKnownFindingsAreKeptBack(t *testing.T) {
	dir := racks(t)
	lintIn(t, dir, "./...").want(t, exitFindings, "4 findings in 1 package; 2 packages looked at\n")
	got := lintIn(t, dir, "-baseline=known.yaml", "./...")
	got.want(t, exitClean)
	if want := "no findings; 4 known ones kept back; 2 packages looked at; 4 lock sites in them\n"; got.stderr != want || got.stdout != "" {
		t.Errorf("want %q\n%v", want, got)
	}
	// The same from elsewhere: files are named from the baseline's directory.
	got = lintIn(t, filepath.Join(dir, "stock"), "-baseline=../known.yaml", ".")
	got.want(t, exitClean, "4 known ones kept back")
}

// edited is a change of shelves, as pairs of old and new text.
type edited struct {
	what  string
	edits []string
	want  []string // what is said of it, a line each
}

// racksOf is a module with a package of shelves for each edit, p0 and on, that is edited after its baseline
// was written.
func racksOf(t *testing.T, list []edited) string {
	t.Helper()
	before, after := map[string]string{}, map[string]string{}
	for i, e := range list {
		name := fmt.Sprintf("p%d/shelves.go", i)
		before[name], after[name] = shelves, strings.NewReplacer(e.edits...).Replace(shelves)
		if after[name] == shelves {
			t.Fatalf("%s changes nothing", e.what)
		}
	}
	dir := writeModule(t, before)
	lintIn(t, dir, "-write-baseline=known.yaml", "./...").want(t, exitClean, " written to known.yaml")
	writeFiles(t, dir, after)
	return dir
}

// said gives the lines of standard error that are about the package of an edit.
func said(got output, i int) []string {
	var list []string
	for line := range strings.Lines(got.stderr) {
		if strings.Contains(line, fmt.Sprintf("p%d/shelves.go", i)) {
			list = append(list, line)
		}
	}
	return list
}

func TestKnownFindingsAreKnownWhenTheyMove(t *testing.T) {
	const call = `db.ExecContext(ctx, "SELECT pg_advisory_lock(31)")`
	const spread = "db.\n\t\tExecContext( // the pool's\n\t\t\tctx,\n\t\t\t\"SELECT pg_advisory_lock(31)\",\n\t\t)"
	formatted, err := format.Source([]byte(strings.Replace(shelves, call, spread, 1)))
	if err != nil {
		t.Fatal(err)
	}
	list := []edited{
		{"lines above", []string{"import (", "// Some\n// lines.\n\nimport (\n\n"}, nil},
		{"moved in its function", []string{"	_, err := " + call, "	if ctx == nil {\n\t\treturn nil\n\t}\n\n\tvar err error\n\tfor range 3 {\n\t\t_, err = " + call + "\n\t}\n"}, nil},
		{"into a literal", []string{"	_, err := " + call + "\n\treturn err", "	return func() error {\n\t\t_, err := " + call + "\n\t\treturn err\n\t}()"}, nil},
		{"spread", []string{call, spread}, nil},
		{"spread as gofmt does", []string{shelves, string(formatted)}, nil},
		{"line ends", []string{"\n", "\r\n"}, nil},
		{"another function before it", []string{"func Count", "func Zero() {}\n\nfunc Count"}, nil},
		{"another name of the receiver's parameter", []string{"Take(ctx context.Context)", "Take(ctx context.Context, _ ...int)"}, nil},
	}
	dir := racksOf(t, list)
	got := lintIn(t, dir, "-baseline=known.yaml", "./...")
	got.want(t, exitClean, "no findings; 32 known ones kept back; 8 packages looked at;")
	for i, e := range list {
		if lines := said(got, i); lines != nil {
			t.Errorf("%s: %q", e.what, lines)
		}
	}
}

func TestWhatIsNewIsReported(t *testing.T) {
	const (
		one = "1 finding occurs no longer; -write-baseline=known.yaml writes what is left\n"
		two = "2 findings occur no longer; -write-baseline=known.yaml writes what is left\n"
	)
	list := []edited{
		{"an edited call", []string{"lock(31)", "lock(30)"},
			[]string{`Count, at "db.ExecContext(ctx, \"SELECT pg_advisory_lock(31)\")": ` + one, ":11:12: pg_advisory_lock runs on db"}},
		{"a renamed function", []string{"func Count", "func Sum"}, []string{", Count, at ", ":11:12: pg_advisory_lock runs on db"}},
		{"another receiver", []string{"(s *Shelf)", "(s Shelf)"}, []string{", (*Shelf).Take, at ", ":17:13: pg_advisory_lock runs on "}},
		{"one more that is alike", []string{"db *sql.DB) {", "db *sql.DB) {\n\tdb.ExecContext(ctx, \"SELECT pg_advisory_lock(33)\")"},
			[]string{":25:2: pg_advisory_lock runs on db"}},
		{"one fewer that is alike", []string{"{\n\tdb.ExecContext(ctx, \"SELECT pg_advisory_lock(33)\")\n", "{\n"},
			[]string{`Twice, at "db.ExecContext(ctx, \"SELECT pg_advisory_lock(33)\")": ` + one}},
		{"repaired", []string{"SELECT pg_advisory_lock(33)", "SELECT 33"}, []string{": " + two}},
		{"suppressed", []string{"	_, err := db.", "	//lint:ignore poollock one connection\n\t_, err := db."}, []string{", Count, at "}},
	}
	dir := racksOf(t, list)
	got := lintIn(t, dir, "-baseline=known.yaml", "./...")
	got.want(t, exitFindings, "4 findings in 4 packages; 21 known ones kept back; 7 packages looked at\n")
	for i, e := range list {
		lines := said(got, i)
		if len(lines) != len(e.want) {
			t.Errorf("%s: got %q, want %q", e.what, lines, e.want)
			continue
		}
		for j, want := range e.want {
			if !strings.Contains(lines[j], want) {
				t.Errorf("%s: no %q in %q", e.what, want, lines)
			}
		}
	}
	got = lintIn(t, dir, "-baseline=known.yaml", "./p5")
	got.want(t, exitClean, "no findings; 2 known ones kept back; 1 package looked at")
	if want := "advisorylint: known.yaml:23: poollock in p5/shelves.go, Twice, at "; !strings.HasPrefix(got.stderr, want) {
		t.Errorf("want %q\n%v", want, got)
	}
}

// A run says nothing of what it did not look at.
func TestOnlyWhatWasLookedAtCanBeGone(t *testing.T) {
	dir := racks(t)
	const tag = "//go:build tagged\n\n"
	writeFiles(t, dir, map[string]string{
		"stock/tagged.go":    tag + strings.Replace(stock, "Count", "Tagged", 1),
		"stock/some_test.go": strings.Replace(stock, "Count", "Tested", 1),
	})
	lintIn(t, dir, "-tags=tagged", "-write-baseline=known.yaml", "./...").want(t, exitClean, "6 findings in 1 package written")
	writeFiles(t, dir, map[string]string{
		"stock/shelves.go": "package stock\n", "stock/tagged.go": tag + "package stock\n", "stock/some_test.go": "package stock\n",
	})
	for args, want := range map[string][]string{
		"./bins":                         nil,
		"-rules=unlockresult ./...":      nil,
		"-exclude=stock/** ./...":        nil,
		"./stock":                        {"(*Shelf).Take", "Count", "Twice", "Tested"},
		"-tags=tagged -test=false ./...": {"(*Shelf).Take", "Count", "Twice", "Tagged"},
	} {
		got := lintIn(t, dir, append([]string{"-baseline=known.yaml"}, strings.Fields(args)...)...)
		got.want(t, exitClean)
		for _, name := range want {
			got.want(t, exitClean, ", "+name+", at ")
		}
		if n := strings.Count(got.stderr, " no longer;"); n != len(want) {
			t.Errorf("%s: %d entries are gone, want %q\n%v", args, n, want, got)
		}
	}
}

func TestRenamedAndRemovedFilesAreGone(t *testing.T) {
	dir := racks(t)
	if err := os.Rename(filepath.Join(dir, "stock"), filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	got := lintIn(t, dir, "-baseline=known.yaml", "./...")
	got.want(t, exitFindings, "4 findings in 1 package; 2 packages looked at")
	if n := strings.Count(got.stderr, " no longer;"); n != 3 {
		t.Errorf("%d entries are gone, want 3\n%v", n, got)
	}
	// A rule that the suite does not have finds nothing.
	writeFileIn(t, dir, "known.yaml", strings.NewReplacer("poollock", "oldrule", "stock/", "store/").Replace(readFile(t, dir, "known.yaml")))
	got = lintIn(t, dir, "-baseline=known.yaml", "./...")
	if n := strings.Count(got.stderr, ": oldrule in store/shelves.go, "); n != 3 {
		t.Errorf("%d entries are gone, want 3\n%v", n, got)
	}
}

// Findings of a package that does not compile may only be hidden.
func TestBaselineBesideBrokenPackages(t *testing.T) {
	dir := racks(t)
	before := readFile(t, dir, "known.yaml")
	writeFileIn(t, dir, "stock/broken.go", "package stock\n\nvar n int = \"\"\n")
	if err := os.Remove(filepath.Join(dir, "stock/shelves.go")); err != nil {
		t.Fatal(err)
	}
	got := lintIn(t, dir, "-baseline=known.yaml", "./...")
	got.want(t, exitFailed)
	got.wantNot(t, "no longer")
	got = lintIn(t, dir, "-write-baseline=known.yaml", "./...")
	got.want(t, exitFailed, "advisorylint: -write-baseline: nothing is written, since what could not be looked at may have findings too\n")
	if after := readFile(t, dir, "known.yaml"); after != before {
		t.Errorf("the file is\n%s", after)
	}
}

func TestFormatsBesideABaseline(t *testing.T) {
	dir := racks(t)
	writeFileIn(t, dir, "stock/shelves.go", strings.Replace(shelves, "lock(31)", "lock(30)", 1))
	run := func(format string, code int) output {
		got := lintIn(t, dir, "-baseline=known.yaml", "-format="+format, "./...")
		got.want(t, code, "known.yaml:7: ")
		return got
	}
	github := run("github", exitFindings)
	if n := strings.Count(github.stdout, "\n"); n != 1 || !strings.HasPrefix(github.stdout, "::warning file=stock/shelves.go,line=11,") {
		t.Errorf("github has %d lines\n%v", n, github)
	}
	github.want(t, exitFindings, "1 finding in 1 package; 3 known ones kept back;")
	if style := run("checkstyle", exitFindings); strings.Count(style.stdout, "<error ") != 1 || !strings.Contains(style.stdout, `<error line="11" `) {
		t.Errorf("checkstyle\n%v", style)
	}
	var tree map[string]map[string][]struct{ Posn string }
	if err := json.Unmarshal([]byte(run("json", exitFindings).stdout), &tree); err != nil {
		t.Fatal(err)
	}
	pool := tree["example.org/shop/stock"]["poollock"]
	if len(tree) != 1 || len(pool) != 1 || !strings.HasSuffix(pool[0].Posn, "shelves.go:11:12") {
		t.Errorf("json has %v", tree)
	}
	states := map[string]int{}
	for _, r := range readSARIF(t, run("sarif", exitFindings).stdout).Results {
		states[r.BaselineState]++
	}
	if want := map[string]int{sarif.New: 1, sarif.Unchanged: 3}; !maps.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
	for _, r := range readSARIF(t, lintIn(t, dir, "-format=sarif", "./...").stdout).Results {
		if r.BaselineState != "" {
			t.Errorf("without a baseline the state is %s", r.BaselineState)
		}
	}
	writeFileIn(t, dir, "stock/shelves.go", shelves)
	got := lintIn(t, dir, "-baseline=known.yaml", "-format=json", "./...")
	if got.code != exitClean || strings.Contains(got.stdout, "poollock") {
		t.Errorf("json of known findings\n%v", got)
	}
}

// What is known is not repaired in passing.
func TestFixesLeaveKnownFindingsAlone(t *testing.T) {
	const source = "package stock\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\n" + free
	dir := writeModule(t, map[string]string{"stock/free.go": source})
	lintIn(t, dir, "-write-baseline=known.yaml", "./...").want(t, exitClean, "1 finding in 1 package written")
	second := source + "\n" + strings.Replace(free, "Free", "Second", 1)
	writeFileIn(t, dir, "stock/free.go", second)
	diff := lintIn(t, dir, "-baseline=known.yaml", "-diff", "./...")
	diff.want(t, exitFindings, "1 fix in 1 file\n1 known one left alone\n")
	lintIn(t, dir, "-baseline=known.yaml", "-fix", "./...").want(t, exitClean, "1 fix in 1 file\n1 known one left alone\n")
	after := readFile(t, dir, "stock/free.go")
	if !strings.Contains(after, "\n\n"+free+"\n") || strings.Count(after, "pglock.Unlock")+strings.Count(after, "!unlocked") != 1 {
		t.Errorf("got\n%s", after)
	}
	lintIn(t, dir, "-baseline=known.yaml", "-fix", "./...").want(t, exitClean, "nothing to fix\n1 known one left alone\n")
}

// Sources that were made of others are named as they lie in the package: what a //line comment names may be
// anywhere, and cgo's output is in a cache.
func TestBaselineOfGeneratedFiles(t *testing.T) {
	body := strings.Replace(strings.TrimPrefix(stock, "package stock\n"), "func Count", "\n//line ../forms/count.form:70\nfunc Count", 1)
	dir := writeModule(t, map[string]string{
		"stock/form.go": "// Code generated by forms. DO NOT EDIT.\n\npackage stock\n" + body,
		"c/c.go":        "package c\n\n// static int shelves(void) { return 3; }\nimport \"C\"\n" + strings.TrimPrefix(strings.Replace(stock, "error {\n", "error {\n\tprintln(C.shelves())\n", 1), "package stock\n"),
	})
	lintIn(t, dir, "-write-baseline=ci/known.yaml", "./...").want(t, exitFailed, "-write-baseline: ci/known.yaml: ")
	if err := os.Mkdir(filepath.Join(dir, "ci"), 0o755); err != nil {
		t.Fatal(err)
	}
	lintIn(t, dir, "-write-baseline=ci/known.yaml", "./...").want(t, exitClean, "2 findings in 2 packages written")
	text := readFile(t, dir, "ci/known.yaml")
	for _, want := range []string{"file: '../c/c.go', in: Count, at: 'db.ExecContext(", "file: '../stock/form.go', in: Count, at: 'db.ExecContext("} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	writeFileIn(t, dir, "c/c.go", strings.Replace(readFile(t, dir, "c/c.go"), "import (", "// A line.\n\nimport (", 1))
	for _, flags := range []string{"", "-trimpath"} {
		got := runWith(t, dir, []string{"GOWORK=off", "GOFLAGS=" + flags}, binary, "-baseline=ci/known.yaml", "./...")
		got.want(t, exitClean, "no findings; 2 known ones kept back;")
		got.wantNot(t, "no longer")
	}
	writeFileIn(t, dir, "c/c.go", "package c\n")
	lintIn(t, dir, "-baseline=ci/known.yaml", "./...").want(t, exitClean, "known.yaml:6: poollock in ../c/c.go, Count, at ")
}

// The module cache is elsewhere on each machine.
func TestBaselineOfRequiredModules(t *testing.T) {
	locks := writeModule(t, map[string]string{"go.mod": "module example.org/locks\n\ngo 1.24\n", "stock/stock.go": stock})
	dir := writeModule(t, map[string]string{
		"go.mod":  "module example.org/shop\n\ngo 1.24\n\nrequire example.org/locks v1.0.0\n\nreplace example.org/locks => " + locks + "\n",
		"shop.go": "package shop\n\nimport _ \"example.org/locks/stock\"\n",
	})
	lintIn(t, dir, "-write-baseline=known.yaml", "example.org/locks/stock").want(t, exitClean, "1 finding in 1 package written")
	if want, text := "{rule: poollock, file: 'module:example.org/locks/stock/stock.go', in: Count,", readFile(t, dir, "known.yaml"); !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	lintIn(t, dir, "-baseline=known.yaml", "example.org/locks/stock").want(t, exitClean, "no findings; 1 known one kept back;")
	lintIn(t, dir, "-baseline=known.yaml", "./...").wantNot(t, "no longer")
	writeFileIn(t, locks, "stock/stock.go", "package stock\n")
	lintIn(t, dir, "-baseline=known.yaml", "example.org/locks/stock").want(t, exitClean, "known.yaml:6: poollock in module:example.org/locks/stock/stock.go, Count, at ")
}

// A directory that is reached through a symbolic link has the same files.
func TestBaselineThroughALink(t *testing.T) {
	dir := racks(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-C", link, "-baseline=known.yaml"}, {"-C", dir, "-baseline=" + filepath.Join(link, "known.yaml")}} {
		lintIn(t, filepath.Dir(link), append(args, "./...")...).want(t, exitClean, "4 known ones kept back")
	}
}

func TestBadBaselinesAreOneClearLine(t *testing.T) {
	dir := racks(t)
	writeFileIn(t, dir, "other.yaml", "rules: [all]\n")
	writeFileIn(t, dir, "newer.yaml", strings.NewReplacer("version: 1", "version: 2", "findings:", "entries:").Replace(readFile(t, dir, "known.yaml")))
	writeFileIn(t, dir, "broken.yaml", strings.Replace(readFile(t, dir, "known.yaml"), "  - {rule", "<<<<<<< HEAD\n  - {rule", 1))
	for args, want := range map[string]string{
		"-baseline=known.yaml -write-baseline=x": "-baseline and -write-baseline are there: choose one, to keep back what is known or to write it anew",
		"-baseline=none.yaml":                    "-baseline: there is no none.yaml: -write-baseline=none.yaml makes it",
		"-baseline=stock":                        "-baseline: read stock: is a directory",
		"-baseline=other.yaml":                   "other.yaml:1: there is no version in it: it is no baseline; name a file that -write-baseline wrote",
		"-baseline=newer.yaml":                   "newer.yaml:4: version 2 is that of a newer advisorylint, and this one reads version 1; -write-baseline=newer.yaml writes it anew",
		"-write-baseline=x -fix":                 "-write-baseline applies no fixes: fix first, and write what is left",
		"-write-baseline=x -json":                "-write-baseline prints no findings: leave out -format=json",
		"-write-baseline ./...":                  "-write-baseline=./...: that is a pattern of packages: name a file, -write-baseline=baseline.yaml",
		"-write-baseline=stock/shelves.go":       "-write-baseline: stock/shelves.go is there and is no baseline: name another file or remove it",
		"-write-baseline=stock":                  "-write-baseline: read stock: is a directory",
		"-write-baseline=nowhere/x ./bins":       "-write-baseline: nowhere/x: no such file or directory",
	} {
		got := lintIn(t, dir, strings.Fields(args)...)
		if got.code != exitFailed || got.stderr != "advisorylint: "+want+"\n" || got.stdout != "" {
			t.Errorf("%s: want %q\n%v", args, want, got)
		}
	}
	got := lintIn(t, dir, "-baseline=broken.yaml")
	got.want(t, exitFailed, "advisorylint: broken.yaml:")
	if !strings.HasSuffix(got.stderr, "; -write-baseline=broken.yaml writes it anew\n") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("got %v", got)
	}
	lintIn(t, dir, "-write-baseline=broken.yaml", "./...").want(t, exitClean)
	for _, name := range []string{"baseline", "write-baseline"} {
		if !notForVet[name] {
			t.Errorf("go vet takes -%s", name)
		}
	}
	if got := vet(t, dir, "-baseline=known.yaml", "./..."); got.code == 0 || !strings.Contains(got.stderr, "-baseline") {
		t.Errorf("go vet takes -baseline\n%v", got)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".advisorylint-*")); err != nil || slices.Contains(left, "") || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}
