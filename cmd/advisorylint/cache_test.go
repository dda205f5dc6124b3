package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is asked for is the same whether it was looked at or known.
func TestWhatIsKnownIsPrintedAlike(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/src")
	if err != nil {
		t.Fatal(err)
	}
	packages := []string{"./jobrunner/...", "./getdel/..."}
	known := "-cache=" + t.TempDir()
	baseline := filepath.Join(t.TempDir(), "known.yaml")
	lintIn(t, dir, append([]string{known, "-write-baseline=" + baseline}, "./jobrunner", "./getdel")...).want(t, 0, " written to ")
	for _, args := range [][]string{
		{"-v", "-c=2", "-rules=all"}, {"-format=json"}, {"-format=github"}, {"-format=html"}, {"-diff"},
		{"-baseline=" + baseline, "-format=sarif"}, {"-exclude=**/bad.go"},
	} {
		args = append(args, packages...)
		want := lintIn(t, dir, append([]string{"-cache=off"}, args...)...)
		for range 2 {
			if got := lintIn(t, dir, append([]string{known}, args...)...); got != want {
				t.Errorf("%q: got %v\nwithout a cache %v", args, got, want)
			}
		}
		if len(want.stdout+want.stderr) < 100 || want.code == exitFailed {
			t.Errorf("%q: %v", args, want)
		}
	}
}

func TestFixesOfWhatIsKnown(t *testing.T) {
	dir := writeModule(t, map[string]string{"load/load.go": loading})
	lintIn(t, dir, "-unlockctx", "./...").want(t, 3, "(unlockctx)")
	lintIn(t, dir, "-unlockctx", "-fix", "./...").want(t, 0, "1 fix in 1 file")
	lintIn(t, dir, "-unlockctx", "./...").want(t, 0, "no findings")
	if text := readFile(t, dir, "load", "load.go"); !strings.Contains(text, "WithoutCancel") {
		t.Errorf("the file is %s", text)
	}
}

// loading releases with the caller's context.
const loading = `package load

import (
	"context"
	"database/sql"
)

func Load(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(7)"); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock(7)")
	return nil
}
`

// What is told of the program, and which rules run, is part of the question.
func TestOtherQuestionsAreAskedAnew(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"ledger/ledger.go": "package ledger\n\nimport \"context\"\n\ntype DB struct{}\n\nfunc (d *DB) Exec(ctx context.Context, q string) error { return nil }\n",
		"post/post.go": "package post\n\nimport (\n\t\"context\"\n\n\t\"example.org/shop/ledger\"\n)\n\nfunc Open(ctx context.Context, d *ledger.DB) error {\n" +
			"\treturn d.Exec(ctx, \"SELECT pg_advisory_lock(1)\")\n}\n",
	})
	const finding = "post/post.go:10:9: pg_advisory_lock"
	for range 2 {
		lintIn(t, dir, "./...").want(t, 0, "no findings")
		lintIn(t, dir, "-clients=example.org/shop/ledger.DB=pool", "-wrappers=example.org/shop/ledger.DB.Exec=pool", "./...").want(t, 3, finding)
	}
	file := "clients: [{type: example.org/shop/ledger.DB, handle: pool}]\nwrappers: [{func: example.org/shop/ledger.DB.Exec}]\n"
	for _, step := range []struct {
		file string
		code int
	}{{file, 3}, {file + "exclude: [post]\n", 0}, {file, 3}, {file + "rules: [unlockorder]\n", 0}, {"rules: [default]\n", 0}} {
		configure(t, dir, step.file)
		got := lintIn(t, dir, "./...")
		if got.code != step.code || step.code == 3 && !strings.Contains(got.stderr, finding) {
			t.Errorf("with %q: %v", step.file, got)
		}
	}
}

// So is what is told in the file of another module of the workspace, of which no package is asked about.
func TestFilesOfOtherModulesAreReadAnew(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"go.work":           "go 1.26\n\nuse ./shop\nuse ./ledger\n",
		"shop/go.mod":       "module example.org/shop\n\ngo 1.26\n",
		"shop/post/post.go": "package post\n\nimport (\n\t\"context\"\n\n\t\"example.org/ledger\"\n)\n\nfunc Open(ctx context.Context, d *ledger.DB) error {\n\treturn d.Exec(ctx, ledger.Lock)\n}\n",
		"ledger/go.mod":     "module example.org/ledger\n\ngo 1.26\n",
		"ledger/ledger.go":  "package ledger\n\nimport \"context\"\n\nconst Lock = \"SELECT pg_advisory_lock(1)\"\n\ntype DB struct{}\n\nfunc (d *DB) Exec(ctx context.Context, q string) error { return nil }\n",
	})
	env := []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOFLAGS=", cacheVariable + "=" + t.TempDir()}
	for _, handle := range []string{"pool", "conn", "pool"} {
		configure(t, filepath.Join(dir, "ledger"), "clients: [{type: example.org/ledger.DB, handle: "+handle+"}]\nwrappers: [{func: example.org/ledger.DB.Exec}]\n")
		for _, comment := range []string{"", "// Looked at again.\n"} {
			path := filepath.Join(dir, "shop", "post", "post.go")
			if err := os.WriteFile(path, []byte(readFile(t, path)+comment), 0o666); err != nil {
				t.Fatal(err)
			}
			got := runWith(t, filepath.Join(dir, "shop"), env, binary, "./...")
			if found := strings.Contains(got.stderr, "post/post.go:10:9: pg_advisory_lock runs on d, a pool"); found != (handle == "pool") {
				t.Errorf("a %s: %v", handle, got)
			}
		}
	}
}

func TestCacheIsShownAndEmptied(t *testing.T) {
	dir, cache := warehouse(t), filepath.Join(t.TempDir(), "kept")
	if got := lintIn(t, dir, "cache", "-cache="+cache); got.code != 0 || got.stdout != cache+": 0 files, 0.0 MB\n" {
		t.Errorf("before it is there: %v", got)
	}
	lintIn(t, dir, "-cache="+cache, "./...").want(t, 3, poolAt)
	mine := filepath.Join(cache, "00", "notes.txt")
	if err := os.WriteFile(mine, []byte("not the cache's"), 0o666); err != nil {
		t.Fatal(err)
	}
	got := runWith(t, dir, []string{cacheVariable + "=" + cache}, binary, "cache")
	if !strings.HasPrefix(got.stdout, cache+": ") || strings.HasPrefix(got.stdout, cache+": 0 files") || got.code != 0 {
		t.Errorf("after a run: %v", got)
	}
	lintIn(t, dir, "cache", "clean", "-cache="+cache).want(t, 0)
	if got := lintIn(t, dir, "cache", "-cache="+cache); got.stdout != cache+": 0 files, 0.0 MB\n" {
		t.Errorf("after cleaning: %v", got)
	}
	if readFile(t, mine) == "" {
		t.Errorf("%s is gone", mine)
	}
	lintIn(t, dir, "-cache="+cache, "./...").want(t, 3, poolAt)
}

func TestCacheThatCannotBe(t *testing.T) {
	dir := warehouse(t)
	file := filepath.Join(dir, "go.mod")
	lintIn(t, dir, "-cache="+file, "./...").want(t, 1, "advisorylint: -cache: ", file)
	lintIn(t, dir, "cache", "all").want(t, 1, "cache takes clean or nothing")
	lintIn(t, dir, "cache", "-cache=off").want(t, 1, "there is no cache")
	nowhere := []string{cacheVariable + "=", "XDG_CACHE_HOME=" + file, "HOME=" + file, "GOWORK=off", "GOCACHE=" + goCache(t)}
	runWith(t, dir, nowhere, binary, "./...").want(t, 3, poolAt)
}

func goCache(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(runIn(t, ".", "go", "env", "GOCACHE").stdout)
}
