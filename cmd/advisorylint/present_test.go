package main

import (
	"errors"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

func TestTextShowsTheTrailIndented(t *testing.T) {
	fset := token.NewFileSet()
	file := fset.AddFile("/elsewhere/stock.go", -1, 100)
	file.SetLines([]int{0, 10, 20, 30})
	f := finding{
		rule: "poollock",
		at:   fset.Position(file.Pos(12)),
		pkg:  &packages.Package{PkgPath: "example.org/shop/stock", Fset: fset},
		diag: analysis.Diagnostic{
			Pos: file.Pos(12), Message: "the lock runs on a pool",
			Related: []analysis.RelatedInformation{
				{Pos: file.Pos(25), Message: "lock is called here"},
				{Message: "dep.go:3: pg_advisory_lock is sent here"},
			},
		},
	}
	for colours, want := range map[bool]string{
		false: "/elsewhere/stock.go:2:3: the lock runs on a pool (poollock)\n" +
			"\t/elsewhere/stock.go:3:6: lock is called here\n" +
			"\tdep.go:3: pg_advisory_lock is sent here\n",
		true: "\x1b[1m/elsewhere/stock.go:2:3\x1b[0m: the lock runs on a pool \x1b[36m(poollock)\x1b[0m\n" +
			"\t\x1b[1m/elsewhere/stock.go:3:6\x1b[0m: lock is called here\n" +
			"\tdep.go:3: pg_advisory_lock is sent here\n",
	} {
		var out strings.Builder
		printer := &textPrinter{w: &out, context: -1, paint: palette{on: colours}}
		printer.list([]finding{f})
		if got := out.String(); got != want {
			t.Errorf("colours %t: got\n%s\nwant\n%s", colours, got, want)
		}
	}
}

func TestRenderMarkdown(t *testing.T) {
	const page = "# poollock\n\nOne two three four\nfive *six* seven.\n\n## Example\n\n```go\nfunc f() {\n\n\tg()\n}\n```\n" +
		"- an item that is long enough to wrap\n- short\n\n| a | b |\n|---|---|\n"
	const want = "poollock\n\nOne two three four\nfive *six* seven.\n\nExample\n\n    func f() {\n\n    \tg()\n    }\n" +
		"- an item that is\n  long enough to\n  wrap\n- short\n\n| a | b |\n|---|---|\n"
	if got := renderMarkdown(page, 18, palette{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, want := range map[string]string{
		"# a\n":         "\x1b[1;4ma\x1b[0m\n",
		"of `x y`, z\n": "of \x1b[36mx\x1b[0m \x1b[36my\x1b[0m, z\n",
		"it's ` one\n":  "it's ` one\n",
	} {
		if got := renderMarkdown(text, 18, palette{on: true}); got != want {
			t.Errorf("%q in colour is %q, want %q", text, got, want)
		}
	}
}

func TestGuardMakesPanicsErrors(t *testing.T) {
	pass := &analysis.Pass{Pkg: types.NewPackage("example.org/shop", "shop")}
	below := &analysis.Analyzer{Name: "below", Run: func(*analysis.Pass) (any, error) { panic("out of range") }}
	failed := errors.New("no luck")
	rule := &analysis.Analyzer{
		Name: "rule", Requires: []*analysis.Analyzer{below},
		Run: func(*analysis.Pass) (any, error) { return 7, failed },
	}
	guard([]*analysis.Analyzer{rule})
	if result, err := rule.Run(pass); result != 7 || err != failed {
		t.Errorf("a rule that does not panic gives %v, %v", result, err)
	}
	const want = "internal error of below in package example.org/shop: out of range"
	if _, err := below.Run(pass); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestGuardedEndsInOneLine(t *testing.T) {
	commands["panic"] = func([]string) int { panic("for the test") }
	t.Cleanup(func() { delete(commands, "panic") })
	if code := guarded([]string{"panic"}); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
}

func TestTalkativeReachesWhatRulesStandOn(t *testing.T) {
	below := &analysis.Analyzer{Name: "below"}
	said := below.Flags.Bool("debug", false, "")
	rule := &analysis.Analyzer{Name: "rule", Requires: []*analysis.Analyzer{below}}
	if err := talkative([]*analysis.Analyzer{rule}); err != nil || !*said {
		t.Errorf("debug is %t, error %v", *said, err)
	}
}
