package goplstest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/goplstest/editor"
)

// waiting is a function that two rules speak of: the lock is on a pool, and waits with no bound (lockwait,
// which is opt-in).
const waiting = `package oven

import (
	"context"
	"database/sql"
)

func Bake(db *sql.DB) error {
	_, err := db.ExecContext(context.Background(), "SELECT pg_advisory_lock(7)")
	return err
}
`

// again is waiting with one more such call.
var again = strings.Replace(waiting, "\treturn err", "\t_, err = db.ExecContext(context.Background(), \"SELECT pg_advisory_lock(8)\")\n\treturn err", 1)

// kitchen is a module with waiting in it, and a configuration file with the text given unless it is empty.
func kitchen(t *testing.T, config string) (dir, oven string) {
	t.Helper()
	dir = bakery(t)
	oven = filepath.Join(dir, "oven", "oven.go")
	write(t, oven, waiting)
	if config != "" {
		configure(t, dir, config)
	}
	return dir, oven
}

func configure(t *testing.T, dir, text string) {
	t.Helper()
	write(t, filepath.Join(dir, ".advisorylint.yaml"), text)
}

// gopls keeps findings on disk; a file that changed must reach it nevertheless, when it starts again.
func TestConfigurationFileHoldsFromTheStart(t *testing.T) {
	dir, oven := kitchen(t, "")
	cache := t.TempDir()
	session := func(want ...string) *session {
		t.Helper()
		s := start(t, dir, setup{cache: cache})
		s.open(oven)
		s.await(oven, 1, want...)
		return s
	}
	session("poollock").stop()

	configure(t, dir, "rules: [lockwait]\n")
	s := session("lockwait")
	configure(t, dir, "rules: [all]\n")
	// The package is looked at again, by the file as it was: what is kept belongs to that.
	s.await(oven, s.change(oven, again), "lockwait", "lockwait")
	s.stop()

	session("lockwait", "poollock").stop()
	configure(t, dir, "rules: [lockwait]\nexclude: [oven/**]\n")
	session().stop()
	configure(t, dir, "rules: [lockwait]\n")
	s = session("lockwait")
	s.await(oven, s.change(oven, again), "lockwait", "lockwait")
	s.stop()
}

// unfollowed is a helper that sends statements in a way that nobody can follow.
const unfollowed = `package joblock

import (
	"context"
	"database/sql"
)

type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var run func(ctx context.Context, on Execer, statement string) error

func Run(ctx context.Context, on Execer, statement string) error { return run(ctx, on, statement) }

func Hold(ctx context.Context, on Execer, job int64) error { return Run(ctx, on, "SELECT pg_advisory_lock(7)") }
`

// What the configuration says of a helper's package changes what is known of it in others.
func TestDeclaredWrapperIsAFactOfAnotherPackage(t *testing.T) {
	dir := bakery(t)
	oven, joblock := filepath.Join(dir, "oven", "oven.go"), filepath.Join(dir, "joblock", "joblock.go")
	write(t, joblock, unfollowed)
	cache := t.TempDir()
	s := start(t, dir, setup{cache: cache})
	s.open(oven)
	// The finding that is made comes with all others of the package.
	s.await(oven, s.change(oven, strings.Replace(read(t, oven), "return bake()", "_, err := db.ExecContext(ctx, \"SELECT pg_advisory_unlock(7)\")\n\treturn err", 1)), "unlockresult", "poollock")
	s.stop()
	configure(t, dir, "wrappers:\n  - func: example.org/bakery/joblock.Run\n    sql: 2\n")
	s = start(t, dir, setup{cache: cache})
	s.open(oven)
	s.await(oven, 1, "poollock")
	s.stop()
}

func TestBrokenConfigurationFileIsSeen(t *testing.T) {
	dir, oven := kitchen(t, "pooler: none\nrules: [lockwiat]\n")
	s := start(t, dir, setup{})
	s.open(oven)
	d := s.await(oven, 1, "advisorylint")[0]
	for _, text := range []string{filepath.Join(dir, ".advisorylint.yaml") + ":2: ", `no rule "lockwiat"; is it lockwait?`, "restart gopls"} {
		if !strings.Contains(d.Message, text) {
			t.Errorf("%q lacks %q", d.Message, text)
		}
	}
	if clause := (editor.Range{Start: editor.Position{Line: 0, Character: 8}, End: editor.Position{Line: 0, Character: 12}}); d.Range != clause {
		t.Errorf("at %+v", d.Range)
	}
	s.stop()
}

func TestOptionsOfTheBuild(t *testing.T) {
	gopls := filepath.Join(t.TempDir(), "gopls")
	if out, err := buildGopls(gopls, "-rules=lockwait", "-exclude=oven/gen/**,it's"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// They go before the file's; what they leave open is the file's.
	dir, oven := kitchen(t, "rules: [poollock]\nexclude: [oven/**]\n")
	s := start(t, dir, setup{gopls: gopls})
	s.open(oven)
	s.await(oven, 1, "lockwait")
	s.stop()
}
