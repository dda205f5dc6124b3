package lockflow

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis"
)

var stdlib = importer.ForCompiler(token.NewFileSet(), "gc", nil)

// loaded is a package that is ready to be analysed.
type loaded struct {
	fset  *token.FileSet
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

// facts are those of a program's packages, encoded, as a driver carries them from one process to
// another: by what they are about and by their type.
type facts struct {
	mu   sync.Mutex
	data map[string][]byte
}

func factKey(obj types.Object, f analysis.Fact) string {
	name := obj.Pkg().Path() + "." + obj.Name()
	if fn, ok := obj.(*types.Func); ok {
		name = fn.FullName()
	}
	return name + " " + reflect.TypeOf(f).String()
}

func (fs *facts) get(obj types.Object, f analysis.Fact) bool {
	if obj.Pkg() == nil {
		return false
	}
	fs.mu.Lock()
	raw, ok := fs.data[factKey(obj, f)]
	fs.mu.Unlock()
	if !ok {
		return false
	}
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(f); err != nil {
		panic(err)
	}
	return true
}

func (fs *facts) set(obj types.Object, f analysis.Fact) {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(f); err != nil {
		panic(err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.data[factKey(obj, f)] = buf.Bytes()
}

// pass is the analysis of p with the facts of what it imports.
func (p *loaded) pass(fs *facts) *analysis.Pass {
	return &analysis.Pass{Analyzer: Analyzer, Fset: p.fset, Files: p.files, Pkg: p.pkg, TypesInfo: p.info,
		TypesSizes: types.SizesFor("gc", "amd64"), Report: func(analysis.Diagnostic) {}, ReadFile: os.ReadFile,
		ImportObjectFact: fs.get, ExportObjectFact: fs.set}
}

func analyse(t testing.TB, pass *analysis.Pass) []*Event {
	t.Helper()
	res, err := run(pass)
	if err != nil {
		t.Fatal(err)
	}
	return res.(*Result).Events
}

// program is packages from source text that import one another.
type program struct {
	pkgs  map[string]*types.Package
	facts *facts
}

func newProgram() *program {
	return &program{pkgs: map[string]*types.Package{}, facts: &facts{data: map[string][]byte{}}}
}

func (pr *program) Import(path string) (*types.Package, error) {
	if p := pr.pkgs[path]; p != nil {
		return p, nil
	}
	return stdlib.Import(path)
}

func (pr *program) load(t *testing.T, path, text string) *loaded {
	t.Helper()
	fset := token.NewFileSet() // as in a process of its own
	name := path[strings.LastIndexByte(path, '/')+1:]
	f, err := parser.ParseFile(fset, name+".go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p := &loaded{fset: fset, files: []*ast.File{f}, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{}}}
	if p.pkg, err = (&types.Config{Importer: pr}).Check(path, fset, p.files, p.info); err != nil {
		t.Fatal(err)
	}
	pr.pkgs[path] = p.pkg
	return p
}

// add analyses a package of the program; those that it imports must have been added before.
func (pr *program) add(t *testing.T, path, text string) []*Event {
	t.Helper()
	return analyse(t, pr.load(t, path, text).pass(pr.facts))
}

// one analyses a program of one package.
func one(t *testing.T, body string) []*Event {
	t.Helper()
	return newProgram().add(t, "example.com/p", "package p\n\nimport (\n\"context\"\n\"database/sql\"\n)\n\nvar (\n_ context.Context\n_ *sql.DB\n)\n\n"+body)
}

// verdicts are the names of those that hold for e, sorted.
func verdicts(e *Event) string {
	var out []string
	for v, name := range map[Verdict]string{Leaked: "leaked", AfterClose: "after close", NotHeld: "not held", Mismatched: "mismatched",
		OutsideTx: "outside tx", Unbounded: "unbounded", InSnapshot: "in snapshot", Starves: "starves", ThroughPooler: "through pooler",
		SessionEnds: "session ends"} {
		if e.Has(v) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// show is all that a rule can see of an event.
func show(p *loaded, e *Event) string {
	if e == nil {
		return "none"
	}
	s := fmt.Sprintf("%s: %s; key %q, faults %d, type %s", p.fset.Position(e.Pos), e.describe(), e.Key, e.faults, e.Handle.Type)
	for _, st := range e.Trail {
		s += fmt.Sprintf("; %s %s %d", st.Posn, st.Text, st.Pos)
	}
	for in := e.Inner; in != nil; in = in.Inner {
		s += "; inside " + verdicts(in)
	}
	if e.Other != nil {
		s += fmt.Sprintf("; other at %s", p.fset.Position(e.Other.Pos))
	}
	return s
}

func showAll(p *loaded, events []*Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(show(p, e) + "\n")
	}
	return b.String()
}

// of are the events of a lock function.
func of(events []*Event, name string) []*Event {
	var out []*Event
	for _, e := range events {
		if e.Lock != nil && e.Lock.Func.Name == name {
			out = append(out, e)
		}
	}
	return out
}
