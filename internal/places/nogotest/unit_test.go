package nogotest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// finding is a line of nogo's output. The place is relative to the module's folder, in which nogo runs
// as it does in Bazel's execution root.
type finding struct{ at, rule, message string }

func (f finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.at, f.message, f.rule) }

var findingLine = regexp.MustCompile(`^(\S+\.go:\d+:\d+): (.*) \((\w+)\)$`)

// workspace is a module whose packages nogo looks at, each in a process of its own.
type workspace struct {
	dir   string
	nogo  string
	out   string            // facts and patches, by the name of a package
	facts map[string]string // file of facts by package path

	// lost is the package whose facts nobody gets, as if they did not survive; "" for none.
	lost string
}

func newWorkspace(t *testing.T, nogo, dir string) *workspace {
	return &workspace{dir: absolute(t, dir), nogo: nogo, out: t.TempDir(), facts: map[string]string{}}
}

// check runs nogo on the packages and before that on what they import, as the actions of a Bazel build do
// with go_deps: the standard library is not looked at and has no facts; other modules are looked at for
// facts only; an action sees the export data and the facts of what its package imports itself.
func (w *workspace) check(t *testing.T, patterns ...string) []finding {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Dir: w.dir,
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
			packages.NeedCompiledGoFiles | packages.NeedExportFile,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the packages do not compile")
	}
	var all []finding
	packages.Visit(pkgs, nil, func(p *packages.Package) { // dependencies first
		if p.Module == nil || len(p.CompiledGoFiles) == 0 {
			return
		}
		all = append(all, w.checkPackage(t, p, !slices.Contains(pkgs, p))...)
	})
	slices.SortFunc(all, func(a, b finding) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (w *workspace) checkPackage(t *testing.T, p *packages.Package, factsOnly bool) []finding {
	t.Helper()
	base := filepath.Join(w.out, strings.ReplaceAll(p.PkgPath, "/", "_"))
	args := []string{"-p", p.PkgPath, "-go_version", "1.26", "-importcfg", base + ".cfg", "-x", base + ".facts", "-fix_dir", base}
	if factsOnly {
		args = append(args, "-facts_only")
	}
	var config strings.Builder
	for path, dep := range p.Imports {
		if path != dep.PkgPath {
			fmt.Fprintf(&config, "importmap %s=%s\n", path, dep.PkgPath)
		}
		if dep.ExportFile != "" {
			fmt.Fprintf(&config, "packagefile %s=%s\n", dep.PkgPath, dep.ExportFile)
		}
		if file := w.facts[dep.PkgPath]; file != "" && dep.PkgPath != w.lost {
			args = append(args, "-fact", dep.PkgPath+"="+file)
		}
	}
	if err := os.WriteFile(base+".cfg", []byte(config.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	w.facts[p.PkgPath] = base + ".facts"
	return w.run(t, p.PkgPath, append(args, w.relative(p.CompiledGoFiles)...))
}

// run gives what nogo reports of one package. Any other exit than nogo's for findings is a failure, that
// of an analyzer which panicked among them.
func (w *workspace) run(t *testing.T, path string, args []string) []finding {
	t.Helper()
	cmd := exec.Command(w.nogo, args...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	const violation = 3 // nogoViolation in rules_go's go/tools/builders/constants.go
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != violation {
		t.Fatalf("nogo of %s: %v\n%s", path, err, out)
	}
	var list []finding
	for line := range strings.Lines(string(out)) {
		if m := findingLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			list = append(list, finding{m[1], m[3], m[2]})
		} else if !strings.HasPrefix(line, "nogo: errors found by nogo") {
			t.Errorf("nogo of %s says %q", path, line)
		}
	}
	return list
}

func (w *workspace) relative(files []string) []string {
	list := make([]string, len(files))
	for i, file := range files {
		list[i] = file
		if rel, err := filepath.Rel(w.dir, file); err == nil && filepath.IsLocal(rel) {
			list[i] = rel
		}
	}
	return list
}

// patch is the file of fixes that nogo leaves for a package; "" when there is none.
func (w *workspace) patch(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.out, strings.ReplaceAll(path, "/", "_"), "nogo.patch"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
