package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// describe writes all that is listed of packages, one line each.
func describe(roots []*packages.Package) []string {
	var lines []string
	for _, p := range roots {
		lines = append(lines, "root "+p.ID)
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		var imports []string
		for path, dep := range p.Imports {
			imports = append(imports, path+"="+dep.ID)
		}
		slices.Sort(imports)
		cgo := slices.DeleteFunc(slices.Clone(p.OtherFiles), func(name string) bool { return filepath.Ext(name) != ".h" && filepath.Ext(name) != ".c" })
		module := ""
		if p.Module != nil {
			m := p.Module
			module = fmt.Sprint(m.Path, m.Version, m.Dir, m.GoMod, m.GoVersion, m.Main, m.Indirect, m.Replace != nil)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %q %q %q %q %s", p.ID, p.PkgPath, p.Name, p.Dir, p.ForTest,
			p.GoFiles, p.EmbedFiles, cgo, imports, module))
	})
	slices.Sort(lines)
	return lines
}

// What is listed here is what packages.Load lists, and it is listed here: another program would take longer.
func TestListIsThatOfPackages(t *testing.T) {
	for _, c := range []Config{
		{Dir: "../..", Patterns: []string{"./..."}, Tests: true},
		{Dir: "../..", Patterns: []string{"./internal/check", "net/http", "runtime/cgo"}},
		{Dir: "../..", Patterns: []string{"os/user", "./internal/findings"}, Tests: true, BuildFlags: []string{"-tags=netgo,long"},
			Env: append(os.Environ(), "CGO_ENABLED=1")},
	} {
		roots, ok := c.goList(t.Context())
		if !ok {
			t.Fatalf("%v: not listed", c.Patterns)
		}
		want, err := packages.Load(&packages.Config{Dir: c.Dir, Mode: listMode, Tests: c.Tests, BuildFlags: c.BuildFlags, Env: c.Env}, c.Patterns...)
		if err != nil {
			t.Fatal(err)
		}
		got, reference := describe(roots), describe(want)
		for _, line := range got {
			if !slices.Contains(reference, line) {
				t.Errorf("%v: only here: %s", c.Patterns, line)
			}
		}
		if len(got) != len(reference) || len(got) < 10 {
			t.Errorf("%v: %d lines, want %d", c.Patterns, len(got), len(reference))
		}
	}
}
