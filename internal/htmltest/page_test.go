package htmltest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What the pages are of: packages with findings of each severity, with a way through two helpers, with a fix,
// suppressed ones, and names and texts that try to become markup.
var shopFiles = map[string]string{
	"go.mod": "module example.org/shop\n\ngo 1.24\n",
	"locks/locks.go": `// Package locks has the helpers.
package locks

import (
	"context"
	"database/sql"
)

type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Take waits for the lock of a shelf.
func Take(ctx context.Context, db Execer, shelf int64) error {
	_, err := db.ExecContext(ctx, ` + "`SELECT pg_advisory_lock($1)`" + `, shelf)
	return err
}

// TakeFirst waits for the lock of the first shelf.
func TakeFirst(ctx context.Context, db Execer) error {
	return Take(ctx, db, 1)
}
`,
	"stock/count.go": `package stock

import (
	"context"
	"database/sql"

	"example.org/shop/locks"
)

func Count(ctx context.Context, db *sql.DB) error {
	return locks.TakeFirst(ctx, db)
}

func Bins(ctx context.Context, db *sql.DB) error {
	//lint:ignore poollock the pool has one connection
	return locks.Take(ctx, db, 2)
}

func Free(ctx context.Context, conn *sql.Conn) error {
	// which the count of the whole stock has held since the morning, when nobody in the shop had sold anything yet at all
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock(31)")
	return err
}
`,
	"stock/deep/" + hostileFile: `package deep

import (
	"context"
	"database/sql"
)

func Order(conn *sql.Conn) error {
	ctx := context.Background()
	// ` + hostile + `
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(32) -- ` + hostile + `")
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "SELECT pg_advisory_unlock(32) -- ` + hostile + `")
	return err
}
`,
}

const (
	hostileFile = `a'><img src=x onerror='pwned=1'>.go`
	hostile     = `</code><img src=x onerror='pwned=1'></script><script>pwned=1</script><iframe src='https://example.org'>`
)

// quietFiles have a lock and no mistake.
var quietFiles = map[string]string{
	"go.mod": "module example.org/quiet\n\ngo 1.24\n",
	"quiet.go": `package quiet

import (
	"context"
	"database/sql"
)

func Take(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(1)")
	return err
}
`,
}

var (
	chromium          browser
	shopPage, noneOne string // files
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "htmltest-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = prepare(dir)
	}
	var end func()
	if err == nil {
		chromium, end, err = openBrowser()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	return m.Run()
}

// prepare makes the pages by the real command.
func prepare(dir string) error {
	command := filepath.Join(dir, "advisorylint")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", command, "./cmd/advisorylint")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	var err error
	if shopPage, err = lint(command, filepath.Join(dir, "shop"), shopFiles, 3, "-rules=default,lockwait", "-severity=poollock=error,lockwait=info"); err != nil {
		return err
	}
	noneOne, err = lint(command, filepath.Join(dir, "quiet"), quietFiles, 0)
	return err
}

// lint makes a page of a module and wants an exit code.
func lint(command, dir string, files map[string]string, code int, flags ...string) (string, error) {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command(command, append(flags, "-format=html", "-out=report.html", "./...")...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code || out.Len() > 0 {
		return "", fmt.Errorf("%v: %v, exit code %d, want %d\n%s", cmd.Args, err, cmd.ProcessState.ExitCode(), code, &out)
	}
	return filepath.Join(dir, "report.html"), nil
}
