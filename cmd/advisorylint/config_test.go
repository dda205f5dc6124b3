package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/settings/configfile"
)

// configure writes dir's configuration file.
func configure(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, configfile.Name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// go vet keeps results by the tool's build id and flags. A file that comes, changes or goes must be seen
// though nothing else changed.
func TestConfigurationFileInBothModes(t *testing.T) {
	dir := warehouse(t)
	for _, step := range []struct {
		name, file string
		pool, wait bool // which of the two findings there are
	}{
		{"no file", "", true, false},
		{"an opt-in rule", "rules: [default, lockwait]", true, true},
		{"that rule only", "rules: [lockwait]", false, true},
		{"one taken away", "rules: [default, -poollock]", false, false},
		{"the folder excluded", "exclude: [stock]", false, false},
		{"another folder excluded", "exclude: [bins]", true, false},
		{"no file again", "", true, false},
	} {
		if step.file == "" {
			_ = os.Remove(filepath.Join(dir, configfile.Name)) // there is none at first
		} else {
			configure(t, dir, step.file)
		}
		for mode, run := range map[string]func(*testing.T, string, ...string) output{"lint": lintIn, "vet": vet} {
			got := run(t, dir, "./...")
			if failed := got.code != 0; failed != (step.pool || step.wait) ||
				strings.Contains(got.stderr, poolAt) != step.pool || strings.Contains(got.stderr, waitAt) != step.wait {
				t.Errorf("%s, %s: %v", step.name, mode, got)
			}
		}
	}
}

// A flag takes the place of the file's option of that name, and of no other.
func TestFlagsComeBeforeTheFileInBothModes(t *testing.T) {
	dir := warehouse(t)
	configure(t, dir, "rules: [lockwait]\npooler: transaction\n")
	for mode, run := range map[string]func(*testing.T, string, ...string) output{"lint": lintIn, "vet": vet} {
		for args, want := range map[string]string{
			"":                                 "wait",
			"-rules=default":                   "pool through", // the pooler is still the file's
			"-rules=default -pooler=session":   "pool",
			"-poollock":                        "pool",
			"-lockwait=false -rules=default":   "pool through",
			"-rules=default -exclude=stock":    "",
			"-rules=default -exclude=**/ock":   "pool through",
			"-rules=default -poolerlock=false": "pool",
		} {
			got := run(t, dir, append(strings.Fields(args), "./...")...)
			var found []string
			for _, f := range []struct{ name, text string }{{"pool", poolAt}, {"wait", waitAt}, {"through", "goes through a transaction pooler"}} {
				if strings.Contains(got.stderr, f.text) {
					found = append(found, f.name)
				}
			}
			if strings.Join(found, " ") != want {
				t.Errorf("%s %s: want %q, got %v", mode, args, want, got)
			}
		}
	}
}

// In a workspace each module has its own file; what a file says of a type or function holds where it is used.
func TestEachModuleHasItsFile(t *testing.T) {
	dir := warehouse(t)
	other := filepath.Join(dir, "other")
	writeFiles(t, dir, map[string]string{
		"go.work":        "go 1.26\n\nuse .\nuse ./other\n",
		"other/go.mod":   "module example.org/other\n\ngo 1.26\n",
		"other/other.go": strings.ReplaceAll(stock, "package stock", "package other"),
	})
	configure(t, dir, "rules: [lockwait]")
	configure(t, other, "rules: [poollock]")
	env := []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOFLAGS="}
	for mode, got := range map[string]output{
		"lint": runWith(t, dir, env, binary, "./stock", "./other"),
		"vet":  runWith(t, dir, env, "go", "vet", "-vettool="+binary, "./stock", "./other"),
	} {
		if !strings.Contains(got.stderr, waitAt) || !strings.Contains(got.stderr, "other.go:9:12: pg_advisory_lock runs on db, a pool") ||
			strings.Count(got.stderr, ".go:9:12") != 2 {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

// What the compiler sees of a package with cgo lies elsewhere; its configuration file does not.
func TestPackagesWithCgoHaveTheirFile(t *testing.T) {
	dir := writeModule(t, map[string]string{"stock/stock.go": `package stock

// static int five(void) { return 5; }
import "C"

import (
	"context"
	"database/sql"
)

func Count(db *sql.DB) error {
	_, err := db.ExecContext(context.Background(), "SELECT pg_advisory_lock($1)", int(C.five()))
	return err
}
`})
	const pool, wait = "stock/stock.go:12:12: pg_advisory_lock runs on db, a pool", "stock/stock.go:12:12: pg_advisory_lock waits"
	for file, want := range map[string][]string{"rules: [poollock]": {pool}, "rules: [lockwait]": {wait}, "exclude: [stock]": nil} {
		configure(t, dir, file)
		for mode, run := range map[string]func(*testing.T, string, ...string) output{"lint": lintIn, "vet": vet} {
			got := run(t, dir, "./...")
			if n := strings.Count(got.stderr, "stock.go:12:12"); n != len(want) || n > 0 && !strings.Contains(got.stderr, want[0]) {
				t.Errorf("%s, %s: want %q, got %v", mode, file, want, got)
			}
		}
	}
}

func TestUsersSayWhatTypesAreInBothModes(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"ledger/ledger.go": `package ledger

import (
	"context"
	"net/http"
)

type DB struct{ client *http.Client }

func (d *DB) Exec(ctx context.Context, q string) error {
	_, err := d.client.Head("https://ledger.example/?" + q)
	return err
}

func (d *DB) Post(note string, q string) error {
	_, err := d.client.Head("https://ledger.example/?" + note + q)
	return err
}
`,
		"book/book.go": `package book

import (
	"context"

	"example.org/shop/ledger"
)

func Open(ctx context.Context, d *ledger.DB) error {
	return d.Exec(ctx, "SELECT pg_advisory_lock(6)")
}

func Close(d *ledger.DB) error {
	return d.Post("close", "SELECT pg_advisory_unlock(6)")
}
`,
	})
	const opens, closes = "book/book.go:10:9: pg_advisory_lock runs on d, a pool", "book/book.go:14:9: pg_advisory_unlock runs on d, a pool"
	for mode, run := range map[string]func(*testing.T, string, ...string) output{"lint": lintIn, "vet": vet} {
		_ = os.Remove(filepath.Join(dir, configfile.Name)) // of the mode before
		run(t, dir, "-poollock", "./...").want(t, 0)
		configure(t, dir, "clients: [{type: example.org/shop/ledger.DB, handle: pool}]\nrules: [poollock]")
		got := run(t, dir, "./...")
		got.wantNot(t, closes)
		if !strings.Contains(got.stderr, opens) {
			t.Errorf("%s, clients: %v", mode, got)
		}
		got = run(t, dir, "-poollock", "-clients=", "-wrappers=example.org/shop/ledger.DB.Post=pool:1", "./...")
		got.wantNot(t, opens)
		if !strings.Contains(got.stderr, closes) {
			t.Errorf("%s, wrappers: %v", mode, got)
		}
	}
}

func TestBrokenConfigurationFileIsOneClearLine(t *testing.T) {
	const want = ".advisorylint.yaml:2: rules: there is no rule \"poolock\"; is it poollock? ('advisorylint rules' lists them)\n"
	dir := warehouse(t)
	configure(t, dir, "\nrules: [poolock]")
	for name, got := range map[string]output{
		"lint":   lintIn(t, dir, "./..."),
		"config": lintIn(t, dir, "config"),
		"-C":     lintIn(t, t.TempDir(), "-C", dir, "./..."),
	} {
		if got.code != 1 || strings.Count(got.stderr, "\n") != 1 || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	got := vet(t, dir, "./...")
	if got.code == 0 || strings.Count(got.stderr, want) != 1 {
		t.Errorf("vet: %v", got)
	}
	lintIn(t, dir, "-config=off", "./...").want(t, 3, poolAt)
}

func TestConfigNamesAFile(t *testing.T) {
	dir := warehouse(t)
	configure(t, dir, "rules: [nosuch]")
	writeFiles(t, dir, map[string]string{"ci/lint.yaml": "rules: [lockwait]"})
	got := lintIn(t, dir, "-config=ci/lint.yaml", "./...")
	got.want(t, 3, waitAt)
	got.wantNot(t, poolAt)
	lintIn(t, dir, "-config=ci/none.yaml").want(t, 1, "advisorylint: -config: ", "ci/none.yaml: cannot be read: no such file or directory")
}

func TestConfigCommandSaysWhatIsInForce(t *testing.T) {
	dir := warehouse(t)
	const file = `pooler: session
rules: [default, lockwait]
severity: {lockwait: info}
wrappers:
  - func: example.org/shop.Run
    sql: 2
`
	configure(t, dir, file)
	got := lintIn(t, filepath.Join(dir, "stock"), "config", "-rules=poollock,lockkey", "-exclude=gen/**", "-getdel=false")
	got.want(t, 0)
	for _, line := range []string{
		"# " + filepath.Join(dir, configfile.Name),
		"rules: [poollock, lockkey] # -rules, in the place of line 2",
		"pooler: session # line 1",
		"# clients: not given",
		"wrappers: [{func: example.org/shop.Run, sql: 2}] # line 4",
		"exclude: [gen/**] # -exclude",
		"severity: {lockwait: info} # line 3",
		"# taken away by their flags: getdel",
		"# run: poollock, lockkey",
	} {
		if !strings.Contains(got.stdout, line+"\n") {
			t.Errorf("there is no line %q\n%v", line, got)
		}
	}
	// What it prints is itself a file that means the same.
	configure(t, dir, got.stdout)
	again := lintIn(t, dir, "config", "-getdel=false")
	again.want(t, 0)
	if of := func(o output) string { return o.stdout[strings.Index(o.stdout, "# run: "):] }; of(again) != of(got) {
		t.Errorf("the printed file runs other rules\n%v", again)
	}
	off := lintIn(t, dir, "config", "-config=off")
	if !strings.Contains(off.stdout, "# no configuration file: -config=off\n# rules: not given\n") {
		t.Errorf("with -config=off: %v", off)
	}
	lintIn(t, dir, "config", "./...").want(t, 1, "advisorylint: config takes flags and no packages")
}

// The same findings and fixes come out of the command, go vet and go fix, whatever was chosen where.
func TestModesAgreeOnFixes(t *testing.T) {
	const src = `package stock

import (
	"context"
	"database/sql"
)

func Load(ctx context.Context, conn *sql.Conn, load func() error) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(5)"); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock(5)")
	return load()
}
`
	results := map[string]string{}
	for name, fix := range map[string]func(dir string) output{
		"lint":   func(dir string) output { return lintIn(t, dir, "-fix", "./...") },
		"go vet": func(dir string) output { return vet(t, dir, "-fix", "./...") },
		"go fix": func(dir string) output { return runIn(t, dir, "go", "fix", "-fixtool="+binary, "./...") },
	} {
		dir := writeModule(t, map[string]string{"stock.go": src})
		configure(t, dir, "rules: [unlockctx]")
		got := fix(dir)
		results[name] = readFile(t, dir, "stock.go")
		if results[name] == src {
			t.Errorf("%s fixed nothing: %v", name, got)
		}
	}
	for name := range maps.Keys(results) {
		if results[name] != results["lint"] {
			t.Errorf("%s writes\n%s\nand the command\n%s", name, results[name], results["lint"])
		}
	}
}
