// Package precommit runs the hooks of .pre-commit-hooks.yaml with pre-commit, in a repository whose
// .pre-commit-config.yaml is the page's.
package precommit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.." // of this repository, from this folder

// shop is a repository in which a user works.
type shop struct {
	dir string
	env []string
}

// newShop makes a repository with the page's configuration, in which the repository of the hooks is a copy
// of this one, and installs the hooks.
func newShop(t *testing.T) *shop {
	t.Helper()
	hooks, rev := publish(t)
	s := &shop{dir: t.TempDir()}
	s.env = append(os.Environ(), "PRE_COMMIT_HOME="+t.TempDir(), "PRE_COMMIT_COLOR=never",
		// pre-commit gives the go command a GOPATH of its own, and so an empty module cache, which it takes
		// away afterwards. This one has what the build needs.
		"GOMODCACHE="+output(t, ".", "go", "env", "GOMODCACHE"), "GOFLAGS=-modcacherw -buildvcs=false", "GOWORK=off")
	s.write(t, "go.mod", "module example.org/shop\n\ngo 1.26\n")
	s.write(t, ".pre-commit-config.yaml", configuration(t, hooks, rev))
	s.run(t, 0, "git", "init", "-q", "-b", "main")
	s.run(t, 0, "git", "config", "user.name", "Ada")
	s.run(t, 0, "git", "config", "user.email", "ada@example.org")
	s.run(t, 0, "pre-commit", "install", "--install-hooks")
	return s
}

// configuration is that of docs/integrations/ci.md, with another address and revision.
func configuration(t *testing.T, repo, rev string) string {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/integrations/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(repos:.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/integrations/ci.md has no configuration of pre-commit")
	}
	text := string(m[1])
	for pattern, value := range map[string]string{`repo: \S+`: "repo: " + repo, `rev: \S+`: "rev: " + rev} {
		at := regexp.MustCompile(pattern)
		if len(at.FindAllString(text, -1)) != 1 {
			t.Fatalf("the configuration of docs/integrations/ci.md has not one %s\n%s", pattern, text)
		}
		text = at.ReplaceAllLiteralString(text, value)
	}
	return text
}

// publish commits this repository's files, as they are now, to a repository elsewhere.
func publish(t *testing.T) (dir, rev string) {
	t.Helper()
	dir = t.TempDir()
	for name := range strings.SplitSeq(output(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) || name == "" { // taken away, and not yet in the index
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), data)
	}
	git := func(args ...string) string {
		return output(t, dir, "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
	}
	git("init", "-q")
	git("add", "-f", ".")
	git("commit", "-q", "-m", "as it is now")
	return dir, git("rev-parse", "HEAD")
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (s *shop) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(s.dir, name), []byte(text))
}

// run gives what a command prints, and fails unless it ends with code.
func (s *shop) run(t *testing.T, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s %s: exit code %d, want %d\n%s", name, strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// commit tries to commit everything, which runs the hooks.
func (s *shop) commit(t *testing.T, code int, want ...string) {
	t.Helper()
	s.run(t, 0, "git", "add", ".")
	out := s.run(t, code, "git", "commit", "-m", "count the stock")
	for _, text := range want {
		if !regexp.MustCompile(text).MatchString(out) {
			t.Errorf("the commit does not say %q, but\n%s", text, out)
		}
	}
}

// stock takes a lock on a pool, which is a mistake without a fix.
const stock = `package stock

import (
	"context"
	"database/sql"
)

func Count(db *sql.DB) error {%s
	_, err := db.ExecContext(context.Background(), "SELECT pg_advisory_lock(31)")
	return err
}
`

// stale has a lint:ignore that matches nothing, which is a finding with a fix.
const stale = "package stock\n\n//lint:ignore poollock it was here\nvar N = 3\n"

func TestHooks(t *testing.T) {
	s := newShop(t)
	s.write(t, "stock/doc.go", "// Package stock counts.\npackage stock\n")
	s.commit(t, 0, `advisorylint -fix\.+Passed`, `advisorylint\.+Passed`)

	s.write(t, "stock/stock.go", fmt.Sprintf(stock, ""))
	s.commit(t, 1, `advisorylint\.+Failed`, `stock/stock\.go:9:12: pg_advisory_lock runs on db, a pool`)

	s.write(t, "stock/stock.go", fmt.Sprintf(stock, "\n\t//lint:ignore poollock one connection"))
	s.commit(t, 0, `advisorylint -fix\.+Passed`, `advisorylint\.+Passed`)
	s.write(t, "README.md", "A shop.\n")
	s.commit(t, 0, `advisorylint\.+\(no files to check\)Skipped`)

	s.write(t, "stock/stale.go", stale)
	s.commit(t, 1, `advisorylint -fix\.+Failed`, `files were modified by this hook`, `1 fix in 1 file`)
	data, err := os.ReadFile(filepath.Join(s.dir, "stock/stale.go"))
	if want := "package stock\n\nvar N = 3\n"; err != nil || string(data) != want {
		t.Errorf("after the fix the file is %q (%v), want %q", data, err, want)
	}
	s.commit(t, 0, `advisorylint -fix\.+Passed`)
}
