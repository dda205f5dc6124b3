// Package goplsbuild builds a gopls that has the rules inside, on the user's machine and through the go
// command alone.
//
// It writes a module whose path lies below gopls's, so that it may import gopls's internal packages, with
// gopls's own main.go and an import of package goplsrules, which says how the rules get in. gopls is made
// for one version of golang.org/x/tools, which is not a release of it and often older than the one that
// this module requires; the module holds to gopls's.
package goplsbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// gopls is gopls's module, and tools the one that it is made for a certain version of.
const (
	gopls = "golang.org/x/tools/gopls"
	tools = "golang.org/x/tools"
)

// Request is what to build.
type Request struct {
	Output  string // the path that the new gopls gets; what is there is replaced when the new one is ready
	Version string // of gopls, such as v0.23.0; "": the newest that the go command can build
	Source  string // this module's directory; "": as this program was built
	Options string // the rules' options, as JSON of settings.Settings; "": none

	Say func(doing string) // told what goes on; nil: nobody wants to know
}

// Built says what came of it.
type Built struct {
	Path      string // absolute
	Version   string // of gopls
	Rules     string // the version of this module, or its directory
	GoVersion string
}

// Build builds what is asked for. Of a build that fails nothing is left.
func Build(ctx context.Context, r Request) (*Built, error) {
	if r.Say == nil {
		r.Say = func(string) {}
	}
	out, err := newOutput(r.Output)
	if err != nil {
		return nil, err
	}
	defer out.discard()
	work, err := os.MkdirTemp("", "advisorylint-gopls-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)

	r.Say("choosing gopls")
	command, err := findGo(ctx, work)
	if err != nil {
		return nil, err
	}
	rules, err := locate(r.Source)
	if err != nil {
		return nil, err
	}
	chosen, err := command.choose(r.Version)
	if err != nil {
		return nil, err
	}
	r.Say("downloading gopls " + chosen.version)
	if err := command.generate(work, chosen, rules); err != nil {
		return nil, err
	}
	r.Say("building gopls " + chosen.version)
	if err := command.compile(out.path(), chosen, r.Options); err != nil {
		return nil, err
	}
	r.Say("asking gopls whether the rules are inside")
	if err := verify(ctx, out.path(), filepath.Join(work, "check")); err != nil {
		return nil, fmt.Errorf("gopls %s: %w", chosen.version, err)
	}
	if err := out.keep(); err != nil {
		return nil, err
	}
	return &Built{Path: out.target, Version: chosen.version, Rules: rules.String(), GoVersion: command.version}, nil
}

// output is the place of the new gopls. It is built in a folder beside that, so that it can take its
// place in one step.
type output struct{ target, dir string }

func newOutput(path string) (*output, error) {
	if path == "" {
		return nil, errors.New("-o is missing: say where gopls goes, as in -o ~/bin/gopls")
	}
	target, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", path, err)
	}
	if runtime.GOOS == "windows" && filepath.Ext(target) == "" {
		target += ".exe"
	}
	parent := filepath.Dir(target)
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return nil, fmt.Errorf("-o %s is a directory: want a file, as in -o %s", path, filepath.Join(path, "gopls"))
	}
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("-o %s: there is no directory %s: create it first", path, parent)
	}
	dir, err := os.MkdirTemp(parent, ".gopls-")
	if err != nil {
		return nil, fmt.Errorf("-o %s: %s cannot be written to: choose another place (%w)", path, parent, cause(err))
	}
	return &output{target: target, dir: dir}, nil
}

// path is where to build. The name is the one that it will have, which gopls tells in its messages.
func (o *output) path() string { return filepath.Join(o.dir, filepath.Base(o.target)) }

func (o *output) keep() error {
	if err := os.Rename(o.path(), o.target); err != nil {
		return fmt.Errorf("-o %s cannot be replaced; stop the editors that use it (%w)", o.target, cause(err))
	}
	return nil
}

func (o *output) discard() { _ = os.RemoveAll(o.dir) }

// cause is an error without the operation and the path, which the message has already.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
