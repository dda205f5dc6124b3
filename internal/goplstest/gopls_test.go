// Package goplstest builds a gopls with the rules inside, by the command that users have for it, and
// drives it as an editor does.
package goplstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/internal/goplstest/editor"
)

// goplsVersion is the gopls that the tests are about.
const goplsVersion = "v0.23.0"

// patience bounds waits that only a defect makes long.
const patience = 5 * time.Minute

// bin has the command, as advisorylint, and the gopls that it built.
var bin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "goplstest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(bin, "advisorylint"), "./cmd/advisorylint")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	if out, err := buildGopls(filepath.Join(bin, "gopls")); err != nil {
		fmt.Fprintf(os.Stderr, "advisorylint gopls: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func buildGopls(path string, args ...string) ([]byte, error) {
	args = append([]string{"gopls", "-version", goplsVersion, "-o", path}, args...)
	return exec.Command(filepath.Join(bin, "advisorylint"), args...).CombinedOutput()
}

// bakery is a copy of the module that the tests edit.
func bakery(t *testing.T) string {
	t.Helper()
	// gopls follows symbolic links where it can, and the tests compare paths.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "bakery"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// session is an editor with a folder open, for one test.
type session struct {
	*editor.Editor
	t   *testing.T
	ctx context.Context
}

// setup is what differs between sessions.
type setup struct {
	gopls    string // "": the one that was built for all tests
	cache    string // "": of its own
	settings map[string]any
}

func start(t *testing.T, folder string, s setup) *session {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("it takes too long"))
	t.Cleanup(cancel)
	if s.gopls == "" {
		s.gopls = filepath.Join(bin, "gopls")
	}
	if s.cache == "" {
		s.cache = t.TempDir()
	}
	e, err := editor.Start(ctx, s.gopls, folder, s.settings, "GOPLSCACHE="+s.cache, "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	if err != nil {
		t.Fatal(err)
	}
	ed := &session{e, t, ctx}
	t.Cleanup(func() { _ = e.Process().Kill() }) // when the test did not come to stop it
	return ed
}

func (s *session) stop() {
	s.t.Helper()
	if _, err := s.Stop(s.ctx); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) open(path string) {
	s.t.Helper()
	if err := s.Open(s.ctx, path, read(s.t, path)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) change(path, text string) int {
	s.t.Helper()
	version, err := s.Change(s.ctx, path, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return version
}

// await waits until the findings of a file are those of the sources given, in any order, and belong to
// its version.
func (s *session) await(path string, version int, sources ...string) []editor.Diagnostic {
	s.t.Helper()
	want := strings.Join(slices.Sorted(slices.Values(sources)), " ")
	p, err := s.Await(s.ctx, path, func(p editor.Published) bool {
		var got []string
		for _, d := range p.Diagnostics {
			got = append(got, d.Source)
		}
		slices.Sort(got)
		return p.URI != "" && p.Version == version && strings.Join(got, " ") == want
	})
	if err != nil {
		s.t.Fatalf("want findings of %q in version %d of %s: %v", want, version, filepath.Base(path), err)
	}
	return p.Diagnostics
}
