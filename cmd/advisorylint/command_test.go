package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// binary is the command, built once for the tests that run it as users do.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "advisorylint-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv(cacheVariable, filepath.Join(dir, "cache")) // of these tests, and not the one of whoever runs them
	binary = filepath.Join(dir, "advisorylint")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// output is what a run of a command gave.
type output struct {
	code           int
	stdout, stderr string
}

func (o output) String() string {
	return fmt.Sprintf("exit %d\nstdout:\n%s\nstderr:\n%s", o.code, o.stdout, o.stderr)
}

// runIn runs a command in dir, outside any workspace and with no colours.
func runIn(t *testing.T, dir, name string, args ...string) output {
	t.Helper()
	return runWith(t, dir, []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, name, args...)
}

func runWith(t *testing.T, dir string, env []string, name string, args ...string) output {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOPROXY=off", "PWD="+dir), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func lintIn(t *testing.T, dir string, args ...string) output {
	t.Helper()
	return runIn(t, dir, binary, args...)
}

func vet(t *testing.T, dir string, args ...string) output {
	t.Helper()
	return runIn(t, dir, "go", append([]string{"vet", "-vettool=" + binary}, args...)...)
}

// want fails unless the run ended with code and its standard error has each text.
func (o output) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit %d, want %d\n%v", o.code, code, o)
	}
	for _, text := range texts {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("stderr lacks %q\n%v", text, o)
		}
	}
}

func (o output) wantNot(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(o.stdout+o.stderr, text) {
			t.Errorf("there is %q\n%v", text, o)
		}
	}
}

// stock takes a lock on a pool (poollock) with no bound (lockwait, which is opt-in).
const stock = `package stock

import (
	"context"
	"database/sql"
)

func Count(db *sql.DB) error {
	_, err := db.ExecContext(context.Background(), "SELECT pg_advisory_lock(31)")
	return err
}
`

const (
	poolAt = "stock/stock.go:9:12: pg_advisory_lock runs on db, a pool"
	waitAt = "stock/stock.go:9:12: pg_advisory_lock waits"
)

// warehouse is a module with one package at fault and one that is clean.
func warehouse(t *testing.T) string {
	return writeModule(t, map[string]string{
		"stock/stock.go": stock,
		"bins/bins.go":   "package bins\n\nimport _ \"example.org/shop/stock\"\n\nvar N = 3\n",
	})
}

func TestLintReportsAndCounts(t *testing.T) {
	dir := warehouse(t)
	got := lintIn(t, dir, "./...")
	got.want(t, 3, poolAt, " (poollock)\n", "1 finding in 1 package; 2 packages looked at\n")
	got.wantNot(t, waitAt, dir, "\x1b[")
	if got.stdout != "" {
		t.Errorf("stdout is %q", got.stdout)
	}
	lintIn(t, dir, "./bins").want(t, 0, "no findings; 1 package looked at; no lock in them\n")
	lintIn(t, filepath.Join(dir, "stock")).want(t, 3, "stock.go:9:12: ")
	lintIn(t, filepath.Dir(dir), "-C", dir, "./...").want(t, 3, "\n1 finding", poolAt)
	lintIn(t, dir, "-debug", "./...").want(t, 3, poolAt, "advisorylint: 2 packages in ")
	lintIn(t, dir, "-c=1", "./...").want(t, 3, poolAt, "\n8\tfunc Count", "\n9\t\t_, err", "\n10\t\treturn err\n1 finding")
}

func TestLintTakesTestFilesUnlessToldNot(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"stock.go":      "package stock\n",
		"stock_test.go": stock,
	})
	lintIn(t, dir).want(t, 3, "stock_test.go:9:12: ", "1 finding in 1 package; 1 package looked at")
	lintIn(t, dir, "-test=false").want(t, 0, "no findings; 1 package looked at")
}

// The package's files are in its test variant too; looking at both would say everything twice in the
// tree, and call an ignore unmatched that matches in one.
func TestLintLooksAtAPackageOnce(t *testing.T) {
	dir := writeModule(t, map[string]string{"stock.go": stock, "stock_test.go": "package stock\n"})
	var tree map[string]any
	got := lintIn(t, dir, "-json")
	if err := json.Unmarshal([]byte(got.stdout), &tree); err != nil || len(tree) != 1 {
		t.Errorf("%v: %d units, want 1\n%v", err, len(tree), got)
	}
}

func TestLintLooksAtAPackageWhoseTestsDoNotCompile(t *testing.T) {
	dir := writeModule(t, map[string]string{"stock/stock.go": stock, "stock/stock_test.go": "package stock\n\nvar n int = \"three\"\n"})
	lintIn(t, dir, "./...").want(t, 1, "advisorylint: stock/stock_test.go:3:13: ", poolAt, "1 finding in 1 package; 1 package looked at\n")
}

func TestLintFollowsBuildTags(t *testing.T) {
	dir := writeModule(t, map[string]string{"a.go": "package stock\n", "stock.go": "//go:build counting\n\n" + stock})
	lintIn(t, dir).want(t, 0)
	lintIn(t, dir, "-tags=counting").want(t, 3, "stock.go:11:12: ")
}

func TestRulesAreChosenInBothModes(t *testing.T) {
	dir := warehouse(t)
	for _, test := range []struct {
		flag            string
		pool, wait, vet bool
	}{
		{"-lockwait", false, true, true},
		{"-poollock=false", false, false, true},
		{"-rules=default,lockwait", true, true, true},
		{"-rules=all", true, true, false},
		{"-rules=-poollock", false, false, false},
	} {
		runs := map[string]output{"lint": lintIn(t, dir, test.flag, "./...")}
		// Another choice makes go vet look at the standard library again, which takes seconds.
		if test.vet {
			runs["vet"] = vet(t, dir, test.flag, "./...")
		}
		for mode, got := range runs {
			if pool, wait := strings.Contains(got.stderr, poolAt), strings.Contains(got.stderr, waitAt); pool != test.pool || wait != test.wait {
				t.Errorf("%s %s: poollock %t, lockwait %t, want %t, %t\n%v", mode, test.flag, pool, wait, test.pool, test.wait, got)
			}
			if failed := got.code != 0; failed != (test.pool || test.wait) {
				t.Errorf("%s %s: exit %d", mode, test.flag, got.code)
			}
		}
	}
}

func TestPoolerIsAnOptionInBothModes(t *testing.T) {
	dir := warehouse(t)
	const through = "goes through a transaction pooler"
	lintIn(t, dir, "-pooler=transaction", "./...").want(t, 3, through, "(poolerlock)", "(poollock)")
	vet(t, dir, "-pooler=transaction", "./...").want(t, 1, through)
	lintIn(t, dir, "-poolerlock", "-poolerlock.pooler=transaction", "./...").want(t, 3, through)
	lintIn(t, dir, "-poolerlock", "-pooler=session", "./...").want(t, 0)
}

func TestJSONIsGoVetsTree(t *testing.T) {
	dir := warehouse(t)
	got := lintIn(t, dir, "-json", "./...")
	got.want(t, 3)
	if got.stderr != "" {
		t.Errorf("stderr is %q", got.stderr)
	}
	const unit = "example.org/shop/stock"
	var tree map[string]map[string][]struct{ Posn, Message string }
	if err := json.Unmarshal([]byte(got.stdout), &tree); err != nil {
		t.Fatalf("%v\n%v", err, got)
	}
	list := tree[unit]["poollock"]
	if len(list) != 1 || !strings.HasSuffix(list[0].Posn, "stock.go:9:12") || !strings.HasPrefix(list[0].Message, "pg_advisory_lock runs on db") {
		t.Errorf("got %v", tree)
	}
	fromVet := vet(t, dir, "-json", "./stock")
	if err := json.Unmarshal([]byte(fromVet.stdout), &tree); err != nil || len(tree[unit]["poollock"]) != 1 {
		t.Errorf("%v\n%v", err, fromVet)
	}
}

// A helper that runs on what it is given is no mistake; the caller in another package that gives it a
// pool is, and facts carry the helper there.
func TestFactsReachCallersInBothModes(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"gate/gate.go": `package gate

import (
	"context"
	"database/sql"
)

type Runner interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func Shut(ctx context.Context, on Runner, bay int64) error {
	_, err := on.ExecContext(ctx, "SELECT pg_advisory_lock($1)", bay)
	return err
}
`,
		"dock/dock.go": `package dock

import (
	"context"
	"database/sql"

	"example.org/shop/gate"
)

func Load(ctx context.Context, db *sql.DB) error {
	return gate.Shut(ctx, db, 4)
}
`,
	})
	const at = "dock/dock.go:11:9: pg_advisory_lock runs on "
	got := lintIn(t, dir, "./...")
	got.want(t, 3, at, "\n\tgate/gate.go:13:", "1 finding in 1 package; 2 packages looked at\n")
	vet(t, dir, "./...").want(t, 1, at, "gate.go:13")
}

func TestVetReportsAgainFromItsCache(t *testing.T) {
	dir := warehouse(t)
	for range 2 {
		got := vet(t, dir, "./...")
		got.want(t, 1, poolAt)
		got.wantNot(t, waitAt)
	}
}

func TestVetComplainsOfARuleOnceAPackage(t *testing.T) {
	got := vet(t, warehouse(t), "-rules=poolock", "./stock")
	got.want(t, 1, "is it poollock?")
	if n := strings.Count(got.stderr, "poolock"); n != 1 {
		t.Errorf("said %d times\n%v", n, got)
	}
}

func TestVersionForVetHoldsTheBinarysHash(t *testing.T) {
	got := lintIn(t, t.TempDir(), "-V=full")
	got.want(t, 0)
	if !regexp.MustCompile(`^\S+ version devel buildID=[0-9a-f]{64}\n$`).MatchString(got.stdout) {
		t.Errorf("got %q", got.stdout)
	}
}

func TestFlagsForVet(t *testing.T) {
	got := lintIn(t, t.TempDir(), "-flags")
	got.want(t, 0)
	var list []struct {
		Name string
		Bool bool
	}
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		t.Fatal(err)
	}
	isBool := map[string]bool{}
	for _, f := range list {
		isBool[f.Name] = f.Bool
	}
	for name, want := range map[string]bool{
		"poollock": true, "lockwait": true, "json": true, "diff": true,
		"rules": false, "pooler": false, "c": false, "poolerlock.pooler": false,
	} {
		if got, ok := isBool[name]; !ok || got != want {
			t.Errorf("-%s: listed %t, bool %t, want bool %t", name, ok, got, want)
		}
	}
	for name := range notForVet {
		if _, ok := isBool[name]; ok {
			t.Errorf("-%s is listed, go vet would pass it on", name)
		}
	}
}

func TestSuppressionInBothModes(t *testing.T) {
	body := func(before, after string) string {
		return strings.Replace(stock, "\t_, err :=", before+"\t_, err :=", 1) + after
	}
	for name, test := range map[string]struct {
		src  string
		want string // "" for clean
	}{
		"ignored with a reason":      {body("\t//lint:ignore poollock one connection\n", ""), ""},
		"ignored without a reason":   {body("\t//lint:ignore poollock\n", ""), "stock.go:9:2: this lint:ignore has no reason"},
		"nolint of the tool":         {body("\t//nolint:advisorylint // one connection\n", ""), ""},
		"nolint of another":          {body("\t//nolint:gosec\n", ""), "stock.go:10:12: pg_advisory_lock runs on db"},
		"matches nothing":            {"package stock\n\n//lint:ignore poollock it was here\nvar N = 3\n", "stock.go:3:1: this lint:ignore matches no finding of poollock"},
		"of a rule that did not run": {"package stock\n\n//lint:ignore lockwait it was here\nvar N = 3\n", ""},
		"of another linter's check":  {"package stock\n\n//lint:ignore SA4006 it was here\nvar N = 3\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeModule(t, map[string]string{"stock.go": test.src})
			lint, vet := lintIn(t, dir), vet(t, dir)
			if test.want == "" {
				lint.want(t, 0)
				vet.want(t, 0)
				return
			}
			lint.want(t, 3, test.want)
			vet.want(t, 1, test.want)
		})
	}
}

// stale is a module with a finding that has a fix, a lint:ignore that matches nothing.
const stale = "package stock\n\n//lint:ignore poollock it was here\nvar N = 3\n"

func TestFixInBothModes(t *testing.T) {
	const fixed = "package stock\n\nvar N = 3\n"
	for name, test := range map[string]struct {
		command func(dir string) output
		code    int
		stderr  string
	}{
		"lint":   {func(dir string) output { return lintIn(t, dir, "-fix") }, 0, "1 fix in 1 file\n"},
		"go vet": {func(dir string) output { return vet(t, dir, "-fix") }, 0, ""},
		"go fix": {func(dir string) output { return runIn(t, dir, "go", "fix", "-fixtool="+binary) }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeModule(t, map[string]string{"stock.go": stale, "stock_test.go": "package stock\n"})
			test.command(dir).want(t, test.code, test.stderr)
			if got := readFile(t, dir, "stock.go"); got != fixed {
				t.Errorf("got %q, want %q", got, fixed)
			}
		})
	}
}

func TestDiffInBothModes(t *testing.T) {
	const diff = "@@ -1,4 +1,3 @@\n package stock\n \n-//lint:ignore poollock it was here\n var N = 3\n"
	for name, test := range map[string]struct {
		command func(dir string) output
		code    int
	}{
		"lint":   {func(dir string) output { return lintIn(t, dir, "-diff") }, 3},
		"go vet": {func(dir string) output { return vet(t, dir, "-fix", "-diff") }, 1},
		"go fix": {func(dir string) output { return runIn(t, dir, "go", "fix", "-fixtool="+binary, "-diff") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeModule(t, map[string]string{"stock.go": stale})
			got := test.command(dir)
			got.want(t, test.code)
			if name == "lint" && got.stdout != "--- a/stock.go\n+++ b/stock.go\n"+diff {
				t.Errorf("got %v", got)
			}
			if !strings.Contains(got.stdout, "-//lint:ignore poollock it was here\n") {
				t.Errorf("no diff: %v", got)
			}
			if readFile(t, dir, "stock.go") != stale {
				t.Error("the file was written")
			}
		})
	}
}

// The fixed program has no finding of the rule that fixed it.
func TestFixOfARuleHolds(t *testing.T) {
	dir := writeModule(t, map[string]string{"dock.go": `package dock

import (
	"context"
	"database/sql"
)

func Load(ctx context.Context, conn *sql.Conn, load func() error) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(4)"); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock(4)")
	return load()
}
`})
	lintIn(t, dir, "-unlockctx").want(t, 3, "dock.go:12:8: ", "(unlockctx)")
	lintIn(t, dir, "-unlockctx", "-fix").want(t, 0, "1 fix in 1 file\n")
	if got := readFile(t, dir, "dock.go"); !strings.Contains(got, "context.WithoutCancel(ctx), \"SELECT pg_advisory_unlock(4)\")") {
		t.Errorf("got\n%s", got)
	}
	lintIn(t, dir, "-unlockctx").want(t, 0)
}

func TestFixLeavesWhatHasNone(t *testing.T) {
	dir := writeModule(t, map[string]string{"stock.go": stock + "\n//lint:ignore poollock it was here\nvar N = 3\n"})
	lintIn(t, dir, "-fix").want(t, 3, "stock.go:9:12: ", "1 fix in 1 file; 1 finding without a fix\n")
	if got := readFile(t, dir, "stock.go"); strings.Contains(got, "lint:ignore") || !strings.Contains(got, "pg_advisory_lock") {
		t.Errorf("got %q", got)
	}
}

func TestBadInputIsOneClearLine(t *testing.T) {
	empty := t.TempDir()
	module := writeModule(t, map[string]string{"doc.txt": "no Go here\n"})
	for _, test := range []struct {
		dir  string
		args string
		want string
	}{
		{empty, "-nosuchflag", "advisorylint: there is no flag -nosuchflag ('advisorylint help' lists the flags)"},
		{empty, "-rules=poolock ./...", "advisorylint: -rules: there is no rule \"poolock\"; is it poollock? ('advisorylint rules' lists them)"},
		{empty, "-pooler=maybe", "advisorylint: -pooler: \"maybe\" is not one of transaction, session, none"},
		{empty, "-json -fix", "advisorylint: -json applies no fixes: choose it or -fix or -diff"},
		{empty, "-C nosuchdir", "advisorylint: chdir nosuchdir: no such file or directory"},
		{empty, "explain poolock", "advisorylint: there is no rule \"poolock\"; is it poollock? ('advisorylint rules' lists them)"},
		{empty, "explain", "advisorylint: explain wants the name of one rule ('advisorylint rules' lists them)"},
		{empty, "nosuch.cfg", "advisorylint: open nosuch.cfg: no such file or directory"},
		{module, "./...", "advisorylint: ./... matches no package"},
		{empty, "./...", "advisorylint: ./... matches no package: there is no go.mod in this directory or above it"},
		{empty, "no/such", "advisorylint: package no/such is not in std"},
		{empty, "", "advisorylint: go.mod file not found in current directory or any parent directory; see 'go help modules'"},
	} {
		got := lintIn(t, test.dir, strings.Fields(test.args)...)
		line, oneLine := strings.CutSuffix(got.stderr, "\n")
		if got.code != 1 || !oneLine || strings.Contains(line, "\n") || !strings.HasPrefix(line, test.want) || got.stdout != "" {
			t.Errorf("%s: want %q, got\n%v", test.args, test.want, got)
		}
	}
}

func TestWhatDoesNotCompileLeavesTheRestToLint(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"a type error":      {"package bins\n\nvar N int = \"three\"\nvar M int = \"four\"\n", "advisorylint: bins/bins.go:3:13: cannot use \"three\""},
		"a syntax error":    {"package bins\n\nfunc {\n", "advisorylint: bins/bins.go:3:6: "},
		"an unknown import": {"package bins\n\nimport _ \"example.net/none\"\n", "advisorylint: bins/bins.go:3:8: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeModule(t, map[string]string{
				"stock/stock.go": stock,
				"bins/bins.go":   test.src,
				"shelf/shelf.go": "package shelf\n\nimport _ \"example.org/shop/bins\"\n",
			})
			got := lintIn(t, dir, "./...")
			got.want(t, 1, test.want, poolAt, "1 finding in 1 package; 1 package looked at, 2 packages not\n")
			if n := strings.Count(got.stderr, "advisorylint: "); n != 1 {
				t.Errorf("%d complaints\n%v", n, got)
			}
		})
	}
	dir := writeModule(t, map[string]string{"stock/stock.go": stock})
	lintIn(t, dir, "./stock", "./nosuch").want(t, 1, poolAt, "advisorylint: ./nosuch: ")
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"help":             "advisorylint [flags] [packages]",
		"-help":            "advisorylint [flags] [packages]",
		"version":          "advisorylint ",
		"-V":               "advisorylint ",
		"rules":            "lockwait       opt-in   report blocking acquires",
		"explain poollock": "poollock",
		"help poollock":    "poollock",
	} {
		got := lintIn(t, dir, strings.Fields(args)...)
		if got.code != 0 || !strings.Contains(got.stdout, want) || got.stderr != "" {
			t.Errorf("%s: want %q, got\n%v", args, want, got)
		}
		if strings.Contains(got.stdout, "\x1b[") {
			t.Errorf("%s: escape sequences though this is no terminal", args)
		}
	}
}
