package main

import (
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// writeModule writes files, given as name and content, below a directory of its own and returns it.
func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if files["go.mod"] == "" {
		files["go.mod"] = "module example.org/shop\n\ngo 1.24\n"
	}
	writeFiles(t, dir, files)
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fixture is a package loaded from source, for which findings are made up.
type fixture struct {
	t   *testing.T
	dir string
	pkg *packages.Package
}

func loadFixture(t *testing.T, files map[string]string) *fixture {
	t.Helper()
	dir := writeModule(t, files)
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir}, ".")
	if err != nil || len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		t.Fatalf("load: %v %v", err, pkgs)
	}
	return &fixture{t, dir, pkgs[0]}
}

// replace is an edit: old, which is in the file once, becomes new. Where old starts with "|", new is
// put in before the rest of it.
type replace struct{ file, old, new string }

func (f *fixture) finding(edits ...replace) finding {
	f.t.Helper()
	d := analysis.Diagnostic{Message: "made up"}
	var fix analysis.SuggestedFix
	for _, e := range edits {
		text, insert := strings.CutPrefix(e.old, "|")
		at := strings.Index(readFile(f.t, f.dir, e.file), text)
		if at < 0 {
			f.t.Fatalf("%s has no %q", e.file, text)
		}
		var tf *token.File
		for _, syntax := range f.pkg.Syntax {
			if got := f.pkg.Fset.File(syntax.FileStart); filepath.Base(got.Name()) == e.file {
				tf = got
			}
		}
		te := analysis.TextEdit{Pos: tf.Pos(at), End: tf.Pos(at), NewText: []byte(e.new)}
		if !insert {
			te.End = tf.Pos(at + len(text))
		}
		fix.TextEdits = append(fix.TextEdits, te)
		d.Pos = te.Pos
	}
	if len(edits) > 0 {
		d.SuggestedFixes = []analysis.SuggestedFix{fix}
	}
	return finding{rule: "poollock", at: f.pkg.Fset.Position(d.Pos), diag: d, pkg: f.pkg}
}

const shop = `package shop

import (
	"fmt"
	"os"
)

func first()  { fmt.Println("first") }
func second() { fmt.Println("second") }

var _ = os.Args
`

func TestFixAllMergesWhatDoesNotTouch(t *testing.T) {
	f := loadFixture(t, map[string]string{"shop.go": shop, "more.go": "package shop\n\nvar one = 1\n"})
	left, err := fixAll(&options{context: -1}, []finding{
		f.finding(replace{"shop.go", `fmt.Println("first")`, `println("a");println("b")`}),
		f.finding(replace{"shop.go", `fmt.Println("second")`, `println("2")`}),
		f.finding(replace{"more.go", "= 1", "= 2"}),
		f.finding(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || len(left[0].diag.SuggestedFixes) != 0 {
		t.Errorf("%d findings are left, want the one without a fix", len(left))
	}
	want := `package shop

import (
	"os"
)

func first()  { println("a"); println("b") }
func second() { println("2") }

var _ = os.Args
`
	if got := readFile(t, f.dir, "shop.go"); got != want {
		t.Errorf("got\n%s\nwant, formatted and without the import that nothing uses any more,\n%s", got, want)
	}
	if got := readFile(t, f.dir, "more.go"); got != "package shop\n\nvar one = 2\n" {
		t.Errorf("more.go is %q", got)
	}
}

func TestFixAllLeavesWhatTouches(t *testing.T) {
	f := loadFixture(t, map[string]string{"shop.go": shop})
	second := f.finding(
		replace{"shop.go", `"second"`, `"two"`},
		replace{"shop.go", `("first"`, `("one"`})
	left, err := fixAll(&options{context: -1}, []finding{f.finding(replace{"shop.go", `"first")`, `"eins")`}), second})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].diag.Pos != second.diag.Pos {
		t.Errorf("left are %v, want the second finding", left)
	}
	got := readFile(t, f.dir, "shop.go")
	if !strings.Contains(got, `"eins"`) || !strings.Contains(got, `"second"`) || strings.Contains(got, `"two"`) {
		t.Errorf("want all of the first fix and nothing of the second, got\n%s", got)
	}
}

func TestFixAllAppliesAFixOfTwoRulesOnce(t *testing.T) {
	f := loadFixture(t, map[string]string{"shop.go": shop})
	same := []replace{{"shop.go", `|"second"`, `"a", `}, {"shop.go", `("first"`, `("one"`}}
	other := f.finding(same...)
	other.rule = "unlockctx"
	left, err := fixAll(&options{context: -1}, []finding{f.finding(same...), other})
	if err != nil || len(left) > 0 {
		t.Fatalf("left %v, error %v", left, err)
	}
	if got := readFile(t, f.dir, "shop.go"); !strings.Contains(got, `Println("a", "second")`) || !strings.Contains(got, `Println("one")`) {
		t.Errorf("got\n%s", got)
	}
}

func TestFixAllAddsAnImportOnce(t *testing.T) {
	f := loadFixture(t, map[string]string{"shop.go": shop})
	add := replace{"shop.go", "|)\n\nfunc first", "\t\"log\"\n"}
	left, err := fixAll(&options{context: -1}, []finding{
		f.finding(add, replace{"shop.go", `fmt.Println("first")`, `log.Println("first")`}),
		f.finding(add, replace{"shop.go", `"second"`, `log.Prefix()`}),
		f.finding(replace{"shop.go", add.old, "\t\"errors\"\n"}, replace{"shop.go", "os.Args", "errors.New(os.Args[0])"}),
	})
	if err != nil || len(left) > 0 {
		t.Fatalf("left %v, error %v", left, err)
	}
	got := readFile(t, f.dir, "shop.go")
	if strings.Count(got, `"log"`) != 1 || strings.Count(got, "log.P") != 2 || strings.Count(got, `"errors"`) != 1 {
		t.Errorf("got\n%s", got)
	}
}

// The same text put in twice outside the imports is two changes, of which one run makes one.
func TestFixAllDoesNotJoinStatements(t *testing.T) {
	f := loadFixture(t, map[string]string{"shop.go": shop})
	add := replace{"shop.go", `|fmt.Println("first")`, "println(); "}
	left, err := fixAll(&options{context: -1}, []finding{f.finding(add), f.finding(add)})
	if err != nil || len(left) != 1 {
		t.Fatalf("left %v, error %v", left, err)
	}
}

func TestFixAllSparesWhatIsNotWrittenHere(t *testing.T) {
	const text = "package shop\n\nvar one = 1\n"
	const generated = "// Code generated by hand. DO NOT EDIT.\n\n" + text
	for name, test := range map[string]struct {
		src  string
		main bool
	}{
		"a generated file": {generated, true},
		"another module":   {text, false},
	} {
		f := loadFixture(t, map[string]string{"one.go": test.src})
		f.pkg.Module.Main = test.main
		left, err := fixAll(&options{context: -1}, []finding{f.finding(replace{"one.go", "= 1", "= 2"})})
		if err != nil || len(left) != 1 {
			t.Fatalf("%s: left %v, error %v", name, left, err)
		}
		if got := readFile(t, f.dir, "one.go"); got != test.src {
			t.Errorf("%s was changed: %q", name, got)
		}
	}
}

func TestFixAllWritesNothingOnError(t *testing.T) {
	files := map[string]string{"a.go": "package shop\n\nvar a = 1\n", "b.go": "package shop\n\nvar b = 1\n"}
	for name, test := range map[string]struct {
		spoil func(f *fixture)
		edit  replace
		want  string
	}{
		"a fix that does not parse": {func(*fixture) {}, replace{"b.go", "= 1", "= )"}, "do not parse"},
		"a file changed meanwhile": {func(f *fixture) {
			if err := os.WriteFile(filepath.Join(f.dir, "b.go"), []byte("package shop\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, replace{"b.go", "= 1", "= 2"}, "has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := loadFixture(t, map[string]string{"a.go": files["a.go"], "b.go": files["b.go"]})
			found := []finding{f.finding(replace{"a.go", "= 1", "= 2"}), f.finding(test.edit)}
			test.spoil(f)
			if _, err := fixAll(&options{context: -1}, found); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if got := readFile(t, f.dir, "a.go"); got != files["a.go"] {
				t.Errorf("a.go was written: %q", got)
			}
		})
	}
}

func TestReplaceFileKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "real.go"), filepath.Join(dir, "link.go")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Skip(err)
	}
	if err := replaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != 0o600 || readFile(t, name) != "new" {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if info, err = os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

func TestReplaceFileThatFailsLeavesTheOld(t *testing.T) {
	dir := t.TempDir()
	if err := replaceFile(filepath.Join(dir, "gone.go"), []byte("new")); err == nil {
		t.Error("a file that is not there was replaced")
	}
	if entries, _ := os.ReadDir(dir); slices.ContainsFunc(entries, func(os.DirEntry) bool { return true }) {
		t.Errorf("left in the folder: %v", entries)
	}
}
