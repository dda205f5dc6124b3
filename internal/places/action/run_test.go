package action

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runner runs the steps of action.yml as GitHub's does: inputs with their defaults, expressions in env,
// bash with -e and pipefail, files for outputs.
type runner struct {
	action    metadata
	workspace string
}

// temp is the runner's folder for files of a job, one for all tests: what is built there is not built again.
var temp string

func TestMain(m *testing.M) {
	var err error
	if temp, err = os.MkdirTemp("", "runner-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(temp)
	os.Exit(code)
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	r := &runner{action: readAction(t), workspace: t.TempDir()}
	writeFile(t, filepath.Join(r.workspace, "shop/go.mod"), "module example.org/shop\n\ngo 1.26\n")
	writeFile(t, filepath.Join(r.workspace, "shop/stock/stock.go"), stock)
	writeFile(t, filepath.Join(r.workspace, "shop/bins/bins.go"), "package bins\n")
	return r
}

// stock takes a lock on a pool, and without a bound, of which an opt-in rule speaks.
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

// result is how a run of the action went: that of the first step that failed, or of the last.
type result struct {
	code    int
	log     string
	outputs map[string]string
}

func (r *runner) run(t *testing.T, with map[string]string, env ...string) result {
	t.Helper()
	inputs := map[string]string{"working-directory": "shop"}
	for name, input := range r.action.Inputs {
		if _, ok := inputs[name]; !ok {
			inputs[name] = input.Default
		}
	}
	for name := range with {
		if _, ok := r.action.Inputs[name]; !ok {
			t.Fatalf("there is no input %s", name)
		}
	}
	maps.Copy(inputs, with)
	var got result
	for _, s := range r.action.Runs.Steps {
		if got = r.step(t, s, inputs, env); got.code != 0 {
			break
		}
	}
	return got
}

var expression = regexp.MustCompile(`\$\{\{ inputs\.([\w-]+) \}\}`)

func (r *runner) step(t *testing.T, s step, inputs map[string]string, env []string) result {
	t.Helper()
	evaluate := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(e string) string {
			return inputs[expression.FindStringSubmatch(e)[1]]
		})
	}
	script, outputs := filepath.Join(temp, "script.sh"), filepath.Join(temp, "outputs")
	writeFile(t, script, evaluate(s.Run))
	writeFile(t, outputs, "")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Dir = filepath.Join(r.workspace, evaluate(s.Dir))
	action, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+action, "GITHUB_WORKSPACE="+r.workspace,
		"GITHUB_OUTPUT="+outputs, "RUNNER_TEMP="+temp, "PWD="+cmd.Dir)
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+evaluate(value))
	}
	cmd.Env = append(cmd.Env, env...)
	log, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	got := result{cmd.ProcessState.ExitCode(), string(log), map[string]string{}}
	data, err := os.ReadFile(outputs)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got.outputs[name] = value
	}
	return got
}

// want fails unless the action ended with code and its log has each text.
func (got result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d\n%s", got.code, code, got.log)
	}
	for _, text := range texts {
		if !strings.Contains(got.log, text) {
			t.Errorf("the log lacks %q\n%s", text, got.log)
		}
	}
}

func (got result) wantOutput(t *testing.T, name, value string) {
	t.Helper()
	if got.outputs[name] != value {
		t.Errorf("output %s is %q, want %q\n%s", name, got.outputs[name], value, got.log)
	}
}

// An annotation names its file from the repository's root, wherever the module is.
const annotation = "::warning file=shop/stock/stock.go,line=9,"

func TestActionAnnotates(t *testing.T) {
	r := newRunner(t)
	got := r.run(t, nil)
	got.want(t, 3, annotation, "pg_advisory_lock runs on db, a pool")
	got.wantOutput(t, "exit-code", "3")
	got.wantOutput(t, "file", "")
	if strings.Contains(got.log, "lockwait") {
		t.Errorf("a rule that is opt-in ran\n%s", got.log)
	}

	r.run(t, map[string]string{"fail-on-findings": "false"}).want(t, 0, annotation)
	r.run(t, map[string]string{"args": " -rules=lockwait\n -test=false "}).want(t, 3, "title=advisorylint lockwait")
	r.run(t, map[string]string{"format": "text"}).want(t, 3, "stock/stock.go:9:12: pg_advisory_lock runs on db")
	clean := r.run(t, map[string]string{"packages": "./bins"})
	clean.want(t, 0)
	clean.wantOutput(t, "exit-code", "0")
}

func TestActionWritesFiles(t *testing.T) {
	r := newRunner(t)
	for _, test := range []struct {
		with map[string]string
		code int
		file string // "" when none is written
	}{
		{map[string]string{"format": "sarif"}, 3, "shop/advisorylint.sarif"},
		{map[string]string{"format": "sarif", "fail-on-findings": "false", "output": "found.json"}, 0, "shop/found.json"},
		{map[string]string{"format": "checkstyle"}, 3, "shop/advisorylint.xml"},
		{map[string]string{"format": "checkstyle", "output": filepath.Join(temp, "found.xml")}, 3, filepath.Join(temp, "found.xml")},
	} {
		got := r.run(t, test.with)
		got.want(t, test.code)
		file := test.file
		if !filepath.IsAbs(file) {
			file = filepath.Join(r.workspace, file)
		}
		got.wantOutput(t, "exit-code", "3")
		got.wantOutput(t, "file", file)
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), "pg_advisory_lock runs on db") {
			t.Errorf("%v: %v: %s", test.with, err, data)
		}
		if isJSON := json.Valid(data); isJSON != (test.with["format"] == "sarif") {
			t.Errorf("%v: JSON %t", test.with, isJSON)
		} else if isJSON && !strings.Contains(string(data), `"uri": "shop/stock/stock.go"`) {
			t.Errorf("%v: code scanning takes paths from the repository's root\n%s", test.with, data)
		}
	}
}

// Whatever an input says, it is an argument and runs nothing.
func TestActionRunsNoInput(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(readAction(t).Inputs)) {
		if name == "working-directory" { // not for a script: the runner itself takes it
			continue
		}
		for _, text := range []string{"$(touch made)`touch made`", "; touch made #", "\"; touch made; \""} {
			r := newRunner(t)
			got := r.run(t, map[string]string{name: text}, "GOPROXY=off")
			if got.code == 0 {
				t.Errorf("%s %s: exit code 0\n%s", name, text, got.log)
			}
			for _, pattern := range []string{r.workspace + "/made", r.workspace + "/*/made", temp + "/made", root + "/made"} {
				if found, _ := filepath.Glob(pattern); len(found) > 0 {
					t.Errorf("%s %s made %v", name, text, found)
				}
			}
		}
	}
}

func TestBadInputIsOneLine(t *testing.T) {
	r := newRunner(t)
	r.run(t, map[string]string{"fail-on-findings": "no"}).
		want(t, 1, "::error title=advisorylint::fail-on-findings is \"no\": want true or false\n")
	r.run(t, map[string]string{"format": "gitlab"}).want(t, 1, "gitlab", ": want text, ")
	r.run(t, map[string]string{"version": "v1.2.3"}, "GOPROXY=off").
		want(t, 1, "github.com/advisorylint/advisorylint/cmd/advisorylint@v1.2.3: ")
	r.run(t, nil, "PATH=/nonexistent").want(t, 1, "::error title=advisorylint::there is no go command: run actions/setup-go")
	got := r.run(t, map[string]string{"packages": "./nosuch"})
	got.want(t, 1, "nosuch")
	got.wantOutput(t, "exit-code", "1")
	r.run(t, map[string]string{"packages": "./nosuch", "fail-on-findings": "false"}).want(t, 1, "nosuch")
}
