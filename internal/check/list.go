package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// listing is what the go command says without compiling anything.
type listing struct {
	roots []*packages.Package // what the patterns name, without the main packages that go test makes
	env   goEnv
}

// goEnv is the part of the go command's environment that decides what packages mean, beside their files.
type goEnv map[string]string

var goEnvNames = []string{"GOOS", "GOARCH", "GOROOT", "GOVERSION", "GOMODCACHE", "GOEXPERIMENT", "CGO_ENABLED", "CC", "CGO_CFLAGS", "CGO_CPPFLAGS"}

// within reports whether dir is below the directory that a variable names.
func (e goEnv) within(name, dir string) bool {
	return e[name] != "" && strings.HasPrefix(dir, e[name]+string(filepath.Separator))
}

// list asks the go command for what the patterns name and all that it imports.
//
// packages.Load does it too, with a second call for what this package does not need, and three more of the go
// command; it takes about twice the time. So a program with which nothing is wrong is listed here, and
// packages.Load, which knows what to make of mistakes and of other build systems, is for all others.
func (c *Config) list(ctx context.Context) (*listing, error) {
	l := &listing{}
	asked := make(chan error, 1)
	go func() { asked <- c.askEnv(ctx, &l.env) }()
	var ok bool
	if !external(c.environ()) {
		l.roots, ok = c.goList(ctx)
	}
	if err := <-asked; err != nil {
		return nil, err
	}
	if ok {
		sizes := types.SizesFor("gc", l.env["GOARCH"])
		packages.Visit(l.roots, nil, func(p *packages.Package) { p.TypesSizes = sizes })
	} else {
		roots, err := packages.Load(&packages.Config{
			Context: ctx, Dir: c.Dir, Mode: listMode, Tests: c.Tests, BuildFlags: c.BuildFlags, Env: c.Env,
		}, c.Patterns...)
		if err != nil {
			return nil, err
		}
		l.roots = roots
	}
	l.roots = slices.DeleteFunc(l.roots, func(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") })
	return l, nil
}

// listMode is what packages.Load is asked for. It runs cgo for that.
const listMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule | packages.NeedForTest | packages.NeedEmbedFiles | packages.NeedTypesSizes

func (c *Config) environ() []string {
	if c.Env != nil {
		return c.Env
	}
	return os.Environ()
}

// external reports whether packages.Load would ask another program than the go command.
func external(env []string) bool {
	driver := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "GOPACKAGESDRIVER="); ok {
			driver = value
		}
	}
	if driver == "" {
		_, err := exec.LookPath("gopackagesdriver")
		return err == nil
	}
	return driver != "off"
}

func (c *Config) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	return cmd
}

func (c *Config) askEnv(ctx context.Context, env *goEnv) error {
	cmd := c.command(ctx, append([]string{"env", "-json"}, goEnvNames...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go env: %w: stderr: %s", err, stderr.Bytes())
	}
	return json.Unmarshal(out, env)
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Name, Dir, ForTest                          string
	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, EmbedFiles []string
	Imports                                                 []string
	ImportMap                                               map[string]string
	DepOnly                                                 bool
	Module                                                  *packages.Module
	Error                                                   *struct{ Err string }
}

const listedFields = "ImportPath,Name,Dir,ForTest,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,EmbedFiles," +
	"Imports,ImportMap,DepOnly,Module,Error"

// goList gives what go list names; not ok when something is wrong with a package, or with the command.
func (c *Config) goList(ctx context.Context) (roots []*packages.Package, ok bool) {
	if slices.ContainsFunc(c.Patterns, func(p string) bool { return strings.Contains(p, "=") }) {
		return nil, false // a query of packages.Load
	}
	args := []string{"list", "-e", "-json=" + listedFields, "-deps", "-buildvcs=false", "-pgo=off", fmt.Sprintf("-test=%t", c.Tests)}
	args = append(append(append(args, c.BuildFlags...), "--"), c.Patterns...)
	out, err := c.command(ctx, args...).Output()
	if err != nil {
		return nil, false
	}
	known := map[string]*packages.Package{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			return roots, true
		}
		if err != nil || l.Error != nil || l.Name == "" || known[l.ImportPath] != nil {
			return nil, false
		}
		p := l.make()
		for path, id := range l.imports() {
			if p.Imports[path] = known[id]; known[id] == nil {
				return nil, false // -deps lists what is imported first
			}
		}
		if len(l.CgoFiles) > 0 {
			for _, path := range cgoImports {
				if known[path] != nil && !cgoItself[p.PkgPath] {
					p.Imports[path] = known[path]
				}
			}
		}
		known[p.ID] = p
		if !l.DepOnly {
			roots = append(roots, p)
		}
	}
}

// cgoImports are what the output of cgo imports, but for that of the packages which it stands on.
var (
	cgoImports = []string{"unsafe", "syscall", "runtime/cgo"}
	cgoItself  = map[string]bool{"runtime/cgo": true, "runtime/race": true, "runtime/msan": true, "runtime/asan": true}
)

// make gives the package without its imports. Of its other files it has those that cgo may read.
func (l *listed) make() *packages.Package {
	path, _, _ := strings.Cut(l.ImportPath, " ") // behind the space: the test that a variant is for
	return &packages.Package{
		ID: l.ImportPath, PkgPath: path, Name: l.Name, Dir: l.Dir, ForTest: l.ForTest, Module: l.Module,
		GoFiles:    l.files(l.GoFiles, l.CgoFiles),
		EmbedFiles: l.files(l.EmbedFiles),
		OtherFiles: l.files(l.CFiles, l.CXXFiles, l.HFiles),
		Imports:    map[string]*packages.Package{},
	}
}

func (l *listed) files(lists ...[]string) (paths []string) {
	for _, name := range slices.Concat(lists...) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.Dir, name)
		}
		paths = append(paths, name)
	}
	return paths
}

// imports gives the ID of each package that is imported, by the path that the source has.
func (l *listed) imports() map[string]string {
	ids := map[string]string{}
	for _, id := range l.Imports {
		if id != "C" {
			ids[id] = id
		}
	}
	for path, id := range l.ImportMap {
		delete(ids, id)
		ids[path] = id
	}
	return ids
}
