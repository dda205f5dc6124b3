package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/check"
	"github.com/advisorylint/advisorylint/internal/driver"
)

// told is what a driver says, a line a finding: its place, rule, message, the way to it and its fixes.
func told(graph *checker.Graph) []string {
	var lines []string
	for _, act := range graph.Roots {
		if act.Err != nil {
			continue
		}
		fset := act.Package.Fset
		for _, d := range act.Diagnostics {
			line := fmt.Sprintf("%s %s %s %s", act.Package.ID, fset.Position(d.Pos), act.Analyzer.Name, d.Message)
			for _, r := range d.Related {
				line += fmt.Sprintf(" | %s %s", fset.Position(r.Pos), r.Message)
			}
			for _, fix := range d.SuggestedFixes {
				line += " | " + fix.Message
				for _, e := range fix.TextEdits {
					line += fmt.Sprintf(" | %s-%s %q", fset.Position(e.Pos), fset.Position(e.End), e.NewText)
				}
			}
			lines = append(lines, line)
		}
		for _, h := range driver.Suppressed(act.Result) {
			lines = append(lines, fmt.Sprintf("%s %s %s %s: kept back by %s %s", act.Package.ID, fset.Position(h.Diagnostic.Pos), act.Analyzer.Name, h.Diagnostic.Message, h.Kind, h.Reason))
		}
		sites, _ := act.Result.([]analyzer.Site)
		for _, s := range sites {
			line := fmt.Sprintf("%s %s a lock: ", act.Package.ID, fset.Position(s.Pos))
			s.Pos = token.NoPos
			lines = append(lines, line+fmt.Sprintf("%+v", s))
		}
	}
	slices.Sort(lines)
	return lines
}

// findings are the lines of told that are about mistakes.
func findings(lines []string) (n int) {
	for _, line := range lines {
		if !strings.Contains(line, " a lock: ") && !strings.Contains(line, ": kept back by ") {
			n++
		}
	}
	return n
}

// reference is what the checker of golang.org/x/tools says of the packages that compile.
func reference(t *testing.T, c check.Config) []string {
	t.Helper()
	const mode = packages.LoadAllSyntax | packages.NeedModule | packages.NeedForTest
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Tests: c.Tests, BuildFlags: c.BuildFlags, Env: c.Env, Dir: c.Dir}, c.Patterns...)
	if err != nil {
		t.Fatal(err)
	}
	pkgs = slices.DeleteFunc(pkgs, func(p *packages.Package) bool { return p.IllTyped || strings.HasSuffix(p.ID, ".test") })
	graph, err := checker.Analyze(c.Analyzers, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return told(graph)
}

// vetted is what go vet says, with the place, rule and message of each finding only.
func vetted(t *testing.T, c check.Config) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + tool(t), "-rules=all", "-json"}, c.Patterns...)...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go vet: %v\n%s", err, stderr.Bytes())
	}
	var lines []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var tree map[string]map[string][]struct{ Posn, Message string }
		if err := decoder.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		for _, rules := range tree {
			for rule, list := range rules {
				for _, d := range list {
					lines = append(lines, fmt.Sprintf("%s %s %s", d.Posn, rule, d.Message))
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// tool builds the command.
func tool(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "advisorylint")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", name, "../../cmd/advisorylint").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// short leaves of what told gives what vetted has: of a package with tests, go vet looks at the variant with them
// only, whose messages may name what the tests import.
func short(graph *checker.Graph) []string {
	tested := map[string]bool{}
	for _, act := range graph.Roots {
		if p := act.Package; p.ForTest == p.PkgPath {
			tested[p.PkgPath] = true
		}
	}
	var lines []string
	for _, act := range graph.Roots {
		if p := act.Package; p.ForTest == "" && tested[p.PkgPath] {
			continue
		}
		for _, d := range act.Diagnostics {
			lines = append(lines, fmt.Sprintf("%s %s %s", act.Package.Fset.Position(d.Pos), act.Analyzer.Name, d.Message))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// agree fails the test unless Run and the checker say the same of a program, and go vet too when asked, and
// gives how much that is.
func agree(t *testing.T, c check.Config, vet bool) int {
	t.Helper()
	c.Analyzers, c.Matters, c.Never = append(analyzer.All(), analyzer.Sites), analyzer.Matters, analyzer.NeverMatters
	_, graph, err := check.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := told(graph)
	same(t, "the checker's", got, reference(t, c))
	if vet {
		same(t, "go vet's", short(graph), vetted(t, c))
	}
	cached(t, c, got)
	return findings(got)
}

func same(t *testing.T, whose string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not among %s: %s", whose, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("only among %s: %s", whose, line)
		}
	}
}

// The fixtures use every library that the rules know. go vet takes minutes for all of these, which is for the
// long tests.
func TestFixturesHaveTheSameFindings(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/src")
	if err != nil {
		t.Fatal(err)
	}
	if n := agree(t, check.Config{Dir: dir, Patterns: []string{"./..."}, Tests: long}, long); n < 300 {
		t.Errorf("%d findings are too few for the fixtures", n)
	}
}

// Clients have much of what the rules look for, and are right. The long tests take their tests along.
func TestClientLibrariesHaveTheSameFindings(t *testing.T) {
	for _, module := range []string{"github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9"} {
		t.Run(module, func(t *testing.T) {
			agree(t, check.Config{Dir: copyOf(t, module), Patterns: []string{"./..."}, Env: append(os.Environ(), "GOFLAGS=-mod=mod"), Tests: long}, long)
		})
	}
}

// copyOf puts a module that this one requires where the go command takes it for the main module.
func copyOf(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-json", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed struct{ Dir string }
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(listed.Dir)); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755) // files of the module cache are read-only
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const held = `package PKG

import (
	"context"
	"database/sql"
)

func Hold(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "SELECT pg_advisory_lock(5)")
	return err
}
`

func inPackage(name string) string { return strings.ReplaceAll(held, "PKG", name) }

// program writes a module.
func program(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const modFile = "module example.org/m\n\ngo 1.24\n"

// on is a helper that locks what it is given, whose callers are at fault.
const on = `package on

import (
	"context"
	"database/sql"
)

type Runner interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func Lock(ctx context.Context, r Runner) error {
	_, err := r.ExecContext(ctx, "SELECT pg_advisory_lock(5)")
	return err
}
`

// text has the words of a lock and no client; tag, no word at all, is between it and its user.
var farText = map[string]string{
	"go.mod":       modFile,
	"text/text.go": "package text\n\ntype T struct{}\n\nfunc (T) Lock() string { return `SELECT pg_advisory_lock(5)` }\n\nconst Unlock = `SELECT pg_advisory_unlock(5)`\n",
	"tag/tag.go":   "package tag\n\nimport \"example.org/m/text\"\n\nfunc Get() text.T { return text.T{} }\n\nconst Unlock = text.Unlock\n",
	"use/use.go": `package use

import (
	"context"
	"database/sql"

	"example.org/m/tag"
)

func Hold(ctx context.Context, db *sql.DB) {
	db.ExecContext(ctx, tag.Get().Lock())
	db.ExecContext(ctx, tag.Unlock)
}
`,
}

func TestProgramsHaveTheSameFindings(t *testing.T) {
	for _, test := range []struct {
		name     string
		files    map[string]string
		config   check.Config
		findings int
	}{
		{"tests of both kinds", map[string]string{"go.mod": modFile, "a/a.go": inPackage("a"),
			"a/in_test.go":  strings.ReplaceAll(inPackage("a"), "Hold", "holdIn"),
			"a/out_test.go": strings.ReplaceAll(inPackage("a_test"), "Hold", "holdOut")},
			check.Config{Tests: true}, 4},
		{"no tests", map[string]string{"go.mod": modFile, "a/a.go": inPackage("a"), "a/a_test.go": "package a\n"}, check.Config{}, 1},
		{"a helper that only the tests of another package use", map[string]string{"go.mod": modFile, "on/on.go": on, "b/b.go": "package b\n",
			"on/x_test.go": "package on\n\nvar _ = Lock\n",
			"b/b_test.go":  "package b\n\nimport (\n\t\"database/sql\"\n\t\"testing\"\n\n\t\"example.org/m/on\"\n)\n\nfunc TestLock(t *testing.T) {\n\tvar db *sql.DB\n\tt.Log(on.Lock(t.Context(), db))\n}\n"},
			check.Config{Tests: true}, 1},
		{"only the caller is named", map[string]string{"go.mod": modFile, "on/on.go": on,
			"b/b.go": "package b\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/m/on\"\n)\n\nfunc F(ctx context.Context, db *sql.DB) error { return on.Lock(ctx, db) }\n"},
			check.Config{Patterns: []string{"./b"}}, 1},
		{"text that comes from afar", farText, check.Config{Patterns: []string{"./use"}}, 3},
		{"a build tag", map[string]string{"go.mod": modFile, "a/a.go": "package a\n", "a/b.go": "//go:build extra\n\n" + inPackage("a")},
			check.Config{BuildFlags: []string{"-tags=extra"}}, 1},
		{"cgo", map[string]string{"go.mod": modFile,
			"c/c.go": "package c\n\n// static int seven(void) { return 7; }\nimport \"C\"\n\nfunc Seven() int { return int(C.seven()) }\n",
			"a/a.go": "package a\n\n// static int five(void) { return 5; }\nimport \"C\"\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/m/c\"\n)\n\nfunc Hold(ctx context.Context, db *sql.DB) error {\n\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_lock($1)\", int(C.five())+c.Seven())\n\treturn err\n}\n"},
			check.Config{Patterns: []string{"./a"}}, 1},
		{"types that C defines", map[string]string{"go.mod": modFile,
			"c/c.go": "package c\n\n// enum { seven = 7 };\nimport \"C\"\n\ntype Level C.int\n\nconst Seven Level = C.seven\n\nfunc Up(l Level) Level { return l + 1 }\n",
			"d/d.go": "package d\n\nimport \"example.org/m/c\"\n\nvar Level = c.Up(c.Seven)\n",
			"a/a.go": "package a\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/m/c\"\n\t\"example.org/m/d\"\n)\n\nfunc Hold(ctx context.Context, db *sql.DB) error {\n\t_, err := db.ExecContext(ctx, \"SELECT pg_advisory_lock($1)\", int(c.Up(c.Seven)+d.Level))\n\treturn err\n}\n"},
			check.Config{Patterns: []string{"./a"}}, 1},
		{"a vendor folder", map[string]string{"go.mod": modFile + "\nrequire example.org/on v1.0.0\n",
			"vendor/modules.txt":          "# example.org/on v1.0.0\n## explicit; go 1.24\nexample.org/on\n",
			"vendor/example.org/on/on.go": on,
			"b/b.go":                      "package b\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/on\"\n)\n\nfunc F(ctx context.Context, db *sql.DB) error { return on.Lock(ctx, db) }\n"},
			check.Config{}, 1},
		{"a workspace", map[string]string{"go.work": "go 1.24\n\nuse ./a\nuse ./on\n", "a/go.mod": "module example.org/a\n\ngo 1.24\n",
			"on/go.mod": "module example.org/on\n\ngo 1.24\n", "on/on.go": on,
			"a/b.go": "package b\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\n\t\"example.org/on\"\n)\n\nfunc F(ctx context.Context, db *sql.DB) error { return on.Lock(ctx, db) }\n"},
			check.Config{Patterns: []string{"./a/...", "./on/..."}}, 1},
		{"a package that does not compile", map[string]string{"go.mod": modFile, "a/a.go": inPackage("a"), "b/b.go": "package b\n\nvar x int = \"\"\n",
			"c/c.go": "package c\n\nimport _ \"example.org/m/b\"\n" + strings.TrimPrefix(inPackage("c"), "package c")}, check.Config{}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.config
			c.Dir = program(t, test.files)
			work := "off"
			if test.files["go.work"] != "" {
				work = filepath.Join(c.Dir, "go.work")
			}
			c.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK="+work, "CGO_ENABLED=1")
			if c.Patterns == nil {
				c.Patterns = []string{"./..."}
			}
			if n := agree(t, c, false); n != test.findings {
				t.Errorf("%d findings, want %d", n, test.findings)
			}
		})
	}
}

// A dependency that cannot matter is not looked into: what is wrong in its functions is not even seen.
func TestBodiesOfWhatCannotMatterAreNotLookedAt(t *testing.T) {
	dir := program(t, map[string]string{"go.mod": modFile, "dep/dep.go": "package dep\n\nfunc F() int { return undefined }\n",
		"a/a.go": "package a\n\nimport _ \"example.org/m/dep\"\n" + strings.TrimPrefix(inPackage("a"), "package a")})
	c := check.Config{Dir: dir, Patterns: []string{"./a"}, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off"),
		Analyzers: analyzer.All(), Matters: analyzer.Matters}
	pkgs, graph, err := check.Run(context.Background(), c)
	if err != nil || findings(told(graph)) != 1 || len(pkgs) != 1 || pkgs[0].IllTyped {
		t.Errorf("got %v, error %v", told(graph), err)
	}
	c.Matters = nil
	if pkgs, _, err = check.Run(context.Background(), c); err != nil || !pkgs[0].IllTyped {
		t.Errorf("when everything is followed, the mistake is not seen, error %v", err)
	}
}

func TestErrorsSayWhereAndOnce(t *testing.T) {
	dir := program(t, map[string]string{"go.mod": modFile,
		"syntax/s.go": "package syntax\n\nfunc {\n", "types/t.go": "package types\n\nvar x int = \"\"\n",
		"none/n.go": "package none\n\nimport _ \"example.org/m/nosuch\"\n", "user/u.go": "package user\n\nimport _ \"example.org/m/types\"\n"})
	pkgs, _, err := check.Run(context.Background(), check.Config{Dir: dir, Patterns: []string{"./..."},
		Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off"), Analyzers: analyzer.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		if !p.IllTyped {
			t.Errorf("%s is taken for sound", p.PkgPath)
		}
		want := map[string]string{"syntax": "s.go:3:6", "types": "t.go:3:13", "none": "n.go:3:10", "user": ""}[p.Name]
		if want == "" && len(p.Errors) > 0 || want != "" && (len(p.Errors) == 0 || !strings.Contains(p.Errors[0].Pos, want)) {
			t.Errorf("%s: errors are %v, want one at %q", p.PkgPath, p.Errors, want)
		}
	}
	if len(pkgs) != 4 {
		t.Errorf("%d packages", len(pkgs))
	}
}

// A run that is interrupted ends, with what interrupted it.
func TestRunEndsWithItsContext(t *testing.T) {
	dir := program(t, map[string]string{"go.mod": modFile, "a/a.go": inPackage("a")})
	ctx, cancel := context.WithCancel(context.Background())
	c := check.Config{Dir: dir, Patterns: []string{"./..."}, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off"), Analyzers: analyzer.All(),
		Listed: func([]*packages.Package, int) error { cancel(); return nil }}
	if _, _, err := check.Run(ctx, c); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// Facts of objects that share a name with one that others can see are not taken for its facts.
func TestFactsOfLocalObjectsStayLocal(t *testing.T) {
	dir := program(t, map[string]string{"go.mod": modFile, "a/a.go": "package a\n\ntype T struct{}\n\nfunc (T) M() {}\n\nfunc F() {\n\ttype T struct{ X int }\n\t_ = T{}\n}\n",
		"b/b.go": "package b\n\nimport \"example.org/m/a\"\n\nvar _ = a.T.M\n"})
	heard := map[string]bool{}
	marker := &analysis.Analyzer{Name: "marker", Doc: "marks functions", FactTypes: []analysis.Fact{new(mark)},
		Run: func(pass *analysis.Pass) (any, error) {
			for id, obj := range pass.TypesInfo.Defs {
				if obj != nil && obj.Pkg() == pass.Pkg && id.Name != "_" {
					pass.ExportObjectFact(obj, &mark{id.Name})
				}
			}
			for _, obj := range pass.TypesInfo.Uses {
				if m := new(mark); obj.Pkg() != pass.Pkg && pass.ImportObjectFact(obj, m) {
					heard[m.Name] = true
				}
			}
			return nil, nil
		}}
	_, _, err := check.Run(context.Background(), check.Config{Dir: dir, Patterns: []string{"./..."},
		Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off"), Analyzers: []*analysis.Analyzer{marker}})
	if err != nil || !heard["T"] || !heard["M"] || heard["X"] {
		t.Errorf("heard %v, error %v", heard, err)
	}
}

type mark struct{ Name string }

func (*mark) AFact() {}
