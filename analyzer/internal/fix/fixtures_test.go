package fix_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer/acquireresult"
	"github.com/advisorylint/advisorylint/analyzer/getdel"
	"github.com/advisorylint/advisorylint/analyzer/limitlock"
	"github.com/advisorylint/advisorylint/analyzer/nottl"
	"github.com/advisorylint/advisorylint/analyzer/poollock"
	"github.com/advisorylint/advisorylint/analyzer/renewrace"
	"github.com/advisorylint/advisorylint/analyzer/setlocal"
	"github.com/advisorylint/advisorylint/analyzer/unlockctx"
	"github.com/advisorylint/advisorylint/analyzer/unlockorder"
	"github.com/advisorylint/advisorylint/analyzer/unlockresult"
	"github.com/advisorylint/advisorylint/analyzer/xactlock"
)

// The rules that have fixes: those that need nothing, and those that call the runtime or have none.
var (
	fixing = []*analysis.Analyzer{
		acquireresult.Analyzer, limitlock.Analyzer, nottl.Analyzer, poollock.Analyzer, setlocal.Analyzer,
		unlockctx.Analyzer, unlockorder.Analyzer, unlockresult.Analyzer, xactlock.Analyzer,
	}
	calling   = []*analysis.Analyzer{getdel.Analyzer, renewrace.Analyzer}
	allFixing = slices.Concat(fixing, calling)
)

// TestEachFixTakesItsFindingAway has a program whose every finding has a fix: after them there is none.
// Its module need not have the runtime, so that they bring nothing of it in.
func TestEachFixTakesItsFindingAway(t *testing.T) {
	offered, after := fixAll(t, ".", "./testdata/program")
	for file, src := range after.sources {
		if bytes.Contains(src, []byte("advisorylint/runtime")) {
			t.Errorf("a fix made %s import the runtime:\n%s", file, src)
		}
	}
	for _, a := range fixing {
		if offered[a.Name] == 0 {
			t.Errorf("the program shows no fix of %s", a.Name)
		}
	}
	for key, n := range after.findings {
		t.Errorf("%s: %d findings are left", key, n)
	}
}

// TestFixesOfFixtures does the same with the rules' fixtures and the real client libraries. Their
// findings are not all fixed. Those of the program that has the runtime are, by calling it.
func TestFixesOfFixtures(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the real client libraries twice")
	}
	patterns := []string{"./withruntime"}
	for _, a := range allFixing {
		patterns = append(patterns, "./"+a.Name)
	}
	offered, after := fixAll(t, "../../../testdata/src", patterns...)
	for _, a := range calling {
		if offered[a.Name] == 0 {
			t.Errorf("no fixture shows a fix of %s", a.Name)
		}
	}
	called := 0
	for file, src := range after.sources {
		if filepath.Base(filepath.Dir(file)) != "withruntime" {
			continue
		}
		called++
		if after.findings["unlockresult in "+file]+after.findings["unlockctx in "+file] > 0 || release.Match(src) {
			t.Errorf("a release in %s is not one of the runtime's:\n%s", file, src)
		}
	}
	if called == 0 {
		t.Error("no fix calls the runtime")
	}
}

// release is the text of a release by hand.
var release = regexp.MustCompile(`(pg_advisory_unlock\w*|RELEASE_LOCK)\(`)

// fixAll lints packages, checks that each fix alone leaves a file that compiles and is formatted,
// applies all that do not overlap, and lints again: what was fixed is gone, and nothing has come.
func fixAll(t *testing.T, dir string, patterns ...string) (offered map[string]int, after linted) {
	t.Helper()
	before := lint(t, nil, dir, patterns)
	offered = map[string]int{}
	overlay := map[string][]byte{}
	want := maps.Clone(before.findings)
	for file, fixes := range before.fixes {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []edit
		for _, f := range fixes {
			compiles(t, before, file, f, splice(src, f.edits))
			if f.second { // a run that applies fixes takes the first
				continue
			}
			offered[f.rule]++
			if merged, ok := merge(all, f.edits); ok {
				all = merged
				want[f.key()]--
			}
		}
		overlay[file] = splice(src, all)
	}
	after = lint(t, overlay, dir, patterns)
	after.sources = overlay
	for key := range after.findings {
		want[key] += 0
	}
	for key, n := range want {
		if got := after.findings[key]; got != n {
			t.Errorf("%s: %d findings before the fixes, %d after, want %d", key, before.findings[key], got, n)
		}
	}
	return offered, after
}

// linted is what the rules say of the fixtures.
type linted struct {
	pkgs     map[string]*packages.Package // by file
	findings map[string]int               // by rule and file
	fixes    map[string][]fixed           // by file
	roots    []*packages.Package
	sources  map[string][]byte // by file, where it is not that on disk
}

type fixed struct {
	rule, file, message string
	edits               []edit
	second              bool // another way, for who chooses it
}

func (f fixed) key() string { return f.rule + " in " + f.file }

type edit struct {
	start, end int
	text       string
}

func lint(t *testing.T, overlay map[string][]byte, dir string, patterns []string) linted {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: dir, Overlay: overlay}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the fixtures do not compile")
	}
	graph, err := checker.Analyze(allFixing, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := linted{pkgs: map[string]*packages.Package{}, findings: map[string]int{}, fixes: map[string][]fixed{}, roots: pkgs}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		for _, d := range act.Diagnostics {
			out.add(act, d)
			speaks(t, act, d)
		}
	}
	return out
}

func (l *linted) add(act *checker.Action, d analysis.Diagnostic) {
	fset := act.Package.Fset
	f := fixed{rule: act.Analyzer.Name, file: fset.Position(d.Pos).Filename}
	l.pkgs[f.file] = act.Package
	l.findings[f.key()]++
	for i, s := range d.SuggestedFixes {
		f.message, f.edits, f.second = s.Message, nil, i > 0
		for _, e := range s.TextEdits {
			f.edits = append(f.edits, edit{fset.Position(e.Pos).Offset, fset.Position(e.End).Offset, string(e.NewText)})
		}
		l.fixes[f.file] = append(l.fixes[f.file], f)
	}
}

// wayOut is a function of the runtime, or a method of its Locker; for etcd, which the runtime has not, what to do by hand.
var wayOut = regexp.MustCompile(`lock(?:'s Locker)?\.[A-Z]|a context with a timeout of its own`)

// speaks checks what all messages have in common.
func speaks(t *testing.T, act *checker.Action, d analysis.Diagnostic) {
	t.Helper()
	switch {
	case strings.ContainsAny(d.Message, "\n%") || strings.HasSuffix(d.Message, "."):
		t.Errorf("%s does not speak in one plain line: %q", act.Analyzer, d.Message)
	case !wayOut.MatchString(d.Message) || !strings.Contains(d.Message, "; ") || !strings.Contains(d.Message, ": "):
		t.Errorf("%s names no consequence, or no way out through the runtime: %q", act.Analyzer, d.Message)
	case d.Category != act.Analyzer.Name || d.URL != act.Analyzer.URL || !d.End.IsValid():
		t.Errorf("%s: category %q, URL %q, end %v", act.Analyzer, d.Category, d.URL, d.End)
	}
}

const pglock = "github.com/advisorylint/advisorylint/runtime/pglock"

func (l *linted) has(path string) bool {
	_, err := loaded(l.roots).Import(path)
	return err == nil
}

// merge adds the edits of a fix to those of others, unless they overlap; an import that two fixes
// add is added once.
func merge(all, more []edit) ([]edit, bool) {
	out := slices.Clone(all)
	for _, m := range more {
		if slices.Contains(all, m) {
			continue
		}
		for _, e := range all {
			if m.start < e.end && e.start < m.end || m.start == e.start {
				return all, false
			}
		}
		out = append(out, m)
	}
	return out, true
}

func splice(src []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}

// compiles checks a package with one of its files replaced.
func compiles(t *testing.T, l linted, file string, f fixed, src []byte) {
	t.Helper()
	if clean, err := format.Source(src); err != nil || !bytes.Equal(clean, src) {
		t.Errorf("%s: %q leaves a file that gofmt changes (%v)", file, f.message, err)
	}
	pkg := l.pkgs[file]
	if f.second && !l.has(pglock) {
		return // TestBuilders compiles such programs
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.CompiledGoFiles {
		var text any
		if name == file {
			text = src
		}
		parsed, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %q: %v", file, f.message, err)
			return
		}
		files = append(files, parsed)
	}
	conf := types.Config{Importer: loaded(l.roots)}
	if _, err := conf.Check(pkg.PkgPath, fset, files, nil); err != nil {
		t.Errorf("%s: the program after %q does not compile: %v", file, f.message, err)
	}
}

// loaded imports packages that were loaded together.
type loaded []*packages.Package

func (l loaded) Import(path string) (found *types.Package, err error) {
	packages.Visit(l, func(p *packages.Package) bool {
		if p.PkgPath == path {
			found = p.Types
		}
		return found == nil
	}, nil)
	if found == nil {
		err = fmt.Errorf("%s is not loaded", path)
	}
	return found, err
}
