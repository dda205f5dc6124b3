package analyzer

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// The rules know what the runtime does. Its own packages have no mistake, nor has a program that uses them in
// each of the ways that they offer; where such a program is wrong all the same, it is in files for that.
func TestRulesKnowTheRuntime(t *testing.T) {
	const runtime = "github.com/advisorylint/advisorylint/runtime/"
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: "../testdata/src"}, "./withruntime",
		runtime+"lock", runtime+"internal/pgadvisory", runtime+"pglock", runtime+"pgxlock", runtime+"mysqllock", runtime+"redislock")
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the packages do not compile")
	}
	graph, err := checker.Analyze(All(), pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos)
			got = append(got, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, act.Analyzer))
			t.Logf("%s: %s (%s)", at, d.Message, act.Analyzer)
		}
	}
	slices.Sort(got)
	want := []string{
		"hold.go:5: unlockresult",
		"misuse.go:24: lockmismatch",
		"misuse.go:37: unlockorder",
		"misuse.go:53: earlyunlock",
		"misuse.go:67: lockleak",
		"named.go:35: unlockresult",
		"releases.go:36: unlockresult",
		"releases.go:52: unlockctx",
		"releases.go:52: unlockresult",
		"releases.go:71: unlockresult",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rules report\n%q, want\n%q", got, want)
	}
}
