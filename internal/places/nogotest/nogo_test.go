package nogotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer"
)

const fixtures = root + "/testdata/src"

// nogo takes the variable Analyzer of the package behind each label.
func TestPageListsTheWholeSuite(t *testing.T) {
	var want []string
	for _, a := range analyzer.All() {
		want = append(want, module+"/analyzer/"+a.Name)
	}
	got := listed(t)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("docs/integrations/nogo.md lists\n%q, the suite has\n%q", got, want)
	}
}

// In nogo, facts go through files from process to process, types come from export data, the standard
// library has no facts, and a pass has no ReadFile, no module, and no files but Go's. The findings are those of
// the command all the same.
func TestNogoFindsWhatTheCommandFinds(t *testing.T) {
	w := newWorkspace(t, buildNogo(t, listed(t), ""), fixtures)
	got := w.check(t, "./...")
	want := command(t, "./...")
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("only the command says\n%v", f)
		}
	}
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("only nogo says\n%v", f)
		}
	}
	rules := map[string]bool{}
	for _, f := range got {
		rules[f.rule] = true
	}
	for _, a := range analyzer.All() {
		if !rules[a.Name] {
			t.Errorf("nogo has no finding of %s, which its fixtures have", a.Name)
		}
	}
	patchesApply(t, w)
}

// command gives the findings of the command, with all rules.
func command(t *testing.T, patterns ...string) []finding {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "advisorylint")
	run(t, root, "go", "build", "-o", binary, "./cmd/advisorylint")
	cmd := exec.Command(binary, append([]string{"-rules=all", "-test=false", "-json", "-cache=off"}, patterns...)...)
	cmd.Dir = absolute(t, fixtures)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("advisorylint: %v, want exit code 3 for findings\n%s", err, stderr.String())
	}
	var tree map[string]map[string][]struct{ Posn, Message string }
	if err := json.Unmarshal(stdout.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	var list []finding
	for _, rules := range tree {
		for rule, diagnostics := range rules {
			for _, d := range diagnostics {
				at := strings.TrimPrefix(d.Posn, cmd.Dir+string(filepath.Separator))
				list = append(list, finding{at, rule, d.Message})
			}
		}
	}
	return list
}

// patchesApply holds the fixes that nogo writes beside its findings to what patch -p1 takes.
func patchesApply(t *testing.T, w *workspace) {
	t.Helper()
	applied := 0
	for path := range w.facts {
		text := w.patch(t, path)
		if text == "" {
			continue
		}
		cmd := exec.Command("git", "apply", "--check", "-p1", "-")
		cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(text)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+absolute(t, root))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the patch of %s: %v\n%s", path, err, out)
		}
		applied++
	}
	if applied == 0 {
		t.Error("nogo wrote no patch, and fixtures have fixes")
	}
}

// A helper that locks on what it is given is no mistake; the caller in another package that gives it a pool
// is, and the helper's facts come to it in a file. Without that file there is nothing to say.
func TestFactsReachAnotherProcess(t *testing.T) {
	nogo := buildNogo(t, []string{module + "/analyzer/poollock"}, "")
	const (
		helper = module + "/testdata/src/jobrunner/joblock"
		at     = "jobrunner/main.go:97:14"
	)
	found := func(list []finding) bool {
		return slices.ContainsFunc(list, func(f finding) bool { return f.at == at && f.rule == "poollock" })
	}
	w := newWorkspace(t, nogo, fixtures)
	if got := w.check(t, "./jobrunner/..."); !found(got) {
		t.Errorf("poollock does not report %s, but\n%v", at, got)
	}
	w = newWorkspace(t, nogo, fixtures)
	w.lost = helper
	if got := w.check(t, "./jobrunner/..."); found(got) {
		t.Errorf("poollock reports %s without the facts of %s: this test shows nothing", at, helper)
	}
}

// held takes a session-level lock on a connection of its own: wrong only behind a transaction pooler.
const held = `package held

import (
	"context"
	"database/sql"
)

func Count(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(7)"); err != nil {
		return err
	}
	var freed bool
	return conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(7)").Scan(&freed)
}
`

// The configuration on the page is what rules_go's builder takes: the flag of poolerlock arrives, and its
// exclusions hold.
func TestConfigurationOfThePage(t *testing.T) {
	m := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatal("docs/integrations/nogo.md has no configuration")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module example.org/shop\n\ngo 1.26\n",
		"held/held.go":             held,
		"third_party/held/held.go": held,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := func(config string) []string {
		var list []string
		for _, f := range newWorkspace(t, buildNogo(t, []string{module + "/analyzer/poolerlock"}, config), dir).check(t, "./...") {
			list = append(list, f.at)
		}
		return list
	}
	if got := of(""); len(got) != 0 {
		t.Errorf("without a configuration poolerlock reports %v", got)
	}
	if got, want := of(m[1]), []string{"held/held.go:14:15"}; !slices.Equal(got, want) {
		t.Errorf("with the page's configuration poolerlock reports %v, want %v", got, want)
	}
}
