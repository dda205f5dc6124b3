package settings

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

func TestForm(t *testing.T) {
	for _, test := range []struct {
		rules, pooler   string
		off, part, full Form // of rules that are off, on in part and on by default, called so
	}{
		{"", "", Off, Part, Full},
		{"default", "", Off, Part, Full},
		{"all", "", Full, Full, Full},
		{"off", "", Full, Off, Off},
		{"part", "", Off, Full, Off},
		{"-full", "", Off, Part, Off},
		{"default,off", "", Full, Part, Full},
		{"all,-default", "", Full, Off, Off},
		{"all,-all,part", "", Off, Full, Off},
		{"part,default", "", Off, Full, Full},
		{"part,-part,default", "", Off, Part, Full},
	} {
		s := Settings{Pooler: test.pooler}
		if err := s.Set(Rules, test.rules); err != nil {
			t.Fatal(err)
		}
		got := [3]Form{s.Form("off", Off), s.Form("part", Part), s.Form("full", Full)}
		if want := [3]Form{test.off, test.part, test.full}; got != want {
			t.Errorf("%q: got %v, want %v", test.rules, got, want)
		}
	}
}

// Behind a transaction pooler, the rule that speaks of it is of the default set.
func TestPoolerPutsItsRuleIntoTheDefaultSet(t *testing.T) {
	for _, test := range []struct {
		settings Settings
		want     Form
	}{
		{Settings{}, Off},
		{Settings{Pooler: "session"}, Off},
		{Settings{Pooler: "transaction"}, Full},
		{Settings{Pooler: "transaction", Rules: []string{"default", "lockwait"}}, Full},
		{Settings{Pooler: "transaction", Rules: []string{"lockwait"}}, Off},
		{Settings{Pooler: "transaction", Rules: []string{"-" + poolerRule}}, Off},
	} {
		if got := test.settings.Form(poolerRule, Off); got != test.want {
			t.Errorf("%+v: got %v, want %v", test.settings, got, test.want)
		}
	}
}

func TestSetReadsWhatTextWrites(t *testing.T) {
	for name, texts := range map[string][]string{
		Rules:    {"default,-poollock,lockwait"},
		Pooler:   {"transaction"},
		Clients:  {"example.com/a.DB=pool,example.com/b.Line=conn"},
		Wrappers: {"example.com/a.Run", "example.com/a.DB.Run=tx", "example.com/a.Run=pool:3,example.com/a.Ask=:0"},
		Exclude:  {"gen/**,**/*_mock.go", "{a,b{c,d}}/**,e"},
		Severity: {"lockwait=info,poollock=error"},
	} {
		for _, text := range texts {
			var s Settings
			if err := s.Set(name, text); err != nil || !s.Has(name) || s.Text(name) != text {
				t.Errorf("%s %q becomes %q, error %v", name, text, s.Text(name), err)
			}
		}
	}
	var none Settings
	for _, name := range Names {
		if none.Has(name) || none.Text(name) != "" {
			t.Errorf("%s is there before it is given", name)
		}
	}
}

func TestOverTakesWholeOptions(t *testing.T) {
	flags := Settings{Rules: []string{"all"}, Severity: map[string]string{"a": "info"}}
	file := Settings{Rules: []string{"default"}, Pooler: "none", Exclude: []string{"gen"}, Severity: map[string]string{"b": "error"},
		Clients: []Client{{"x.D", "pool"}}, Wrappers: []Wrapper{{Func: "x.F"}}}
	got := flags.Over(file)
	for name, want := range map[string]string{
		Rules: "all", Pooler: "none", Exclude: "gen", Severity: "a=info", Clients: "x.D=pool", Wrappers: "x.F",
	} {
		if got.Text(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Text(name), want)
		}
	}
	if only := file.Only(Exclude); only.Text(Exclude) != "gen" || only.Has(Rules) || only.Has(Clients) {
		t.Errorf("only exclude: %+v", only)
	}
	if all := file.Over(flags); all.Text(Rules) != "default" || all.Text(Severity) != "b=error" {
		t.Errorf("the other way round: %+v", all)
	}
}

// module makes a module with a package in p and gives a pass of it.
func module(t *testing.T, version string) (root string, pass *analysis.Pass) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m", "p/p.go": "package p"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(root, "p", "p.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return root, &analysis.Pass{Fset: fset, Files: []*ast.File{file}, Module: &analysis.Module{Path: "m", Version: version}}
}

// choose is Use for one test.
func choose(t *testing.T, c *Choice) {
	t.Helper()
	before := inForce.Load()
	t.Cleanup(func() { Use(before) })
	Use(c)
}

func TestWithoutAChoiceEverythingIsSaid(t *testing.T) {
	choose(t, nil)
	_, pass := module(t, "")
	f, err := Of(pass)
	if err != nil || f.Runs("lockwait") != Full || f.Excludes("x.go") || f.FirstFix() {
		t.Errorf("got %+v, error %v", f, err)
	}
}

func TestFileGovernsItsOwnModuleOnly(t *testing.T) {
	var asked []string
	find := func(dir string) (*File, error) {
		asked = append(asked, dir)
		return &File{Path: filepath.Join(dir, "..", "f.yaml"), Settings: Settings{Rules: []string{"lockwait"}, Pooler: "none"}}, nil
	}
	choice := &Choice{Given: Given{Files: true, Settings: Settings{Pooler: "session"}, Without: []string{"getdel"}}, Find: find,
		Defaults: map[string]Form{"poollock": Full}}
	choose(t, choice)
	root, pass := module(t, "")
	own, err := Of(pass)
	if err != nil || own.Runs("lockwait") != Full || own.Runs("poollock") != Off || own.Pooler != "session" {
		t.Errorf("of its module: %+v, error %v", own, err)
	}
	if want := filepath.Join(root, "p"); len(asked) != 1 || asked[0] != want {
		t.Errorf("looked in %q, want %s", asked, want)
	}
	_, pass = module(t, "v1.2.3")
	other, err := Of(pass)
	if err != nil || other.Runs("lockwait") != Off || other.Runs("poollock") != Full || len(asked) != 1 {
		t.Errorf("of a module that is required: %+v, asked %q, error %v", other, asked, err)
	}
	choice.Rules = []string{"all"}
	if f, err := choice.In(root); err != nil || f.Runs("poollock") != Full || f.Runs("getdel") != Off {
		t.Errorf("with all rules but one: %+v, error %v", f, err)
	}
}

// Patterns start from the module's root, or from where their file is.
func TestExcludes(t *testing.T) {
	root, _ := module(t, "")
	fromFile := &Choice{Given: Given{Files: true}, Find: func(string) (*File, error) {
		return &File{Path: filepath.Join(root, "p", "f.yaml"), Settings: Settings{Exclude: []string{"gen"}}}, nil
	}}
	for _, test := range []struct {
		choice  *Choice
		exclude string
		file    string
		want    bool
	}{
		{&Choice{}, "p", "p/x.go", true},
		{&Choice{}, "p", "q/p/x.go", false},
		{&Choice{}, "**/p", "q/p/x.go", true},
		{&Choice{}, "p/*_mock.go", "p/x_mock.go", true},
		{&Choice{}, "p/*_mock.go", "p/q/x_mock.go", false},
		{&Choice{}, "**/*_mock.go,z", "p/q/x_mock.go", true},
		{&Choice{}, "p/**", "p.go", false},
		{&Choice{}, "**", "../x.go", false},
		{fromFile, "", "p/gen/x.go", true},
		{fromFile, "", "gen/x.go", false},
		{&Choice{Given: Given{Files: true}, Find: fromFile.Find}, "p/x.go", "p/gen/x.go", false},
	} {
		if test.exclude != "" {
			test.choice.Exclude = strings.Split(test.exclude, ",")
		}
		f, err := test.choice.In(filepath.Join(root, "p"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Excludes(filepath.Join(root, filepath.FromSlash(test.file))); got != test.want {
			t.Errorf("%q excludes %s: %t", test.exclude, test.file, got)
		}
	}
}
