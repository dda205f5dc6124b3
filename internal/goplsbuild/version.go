package goplsbuild

import (
	"fmt"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// oldest is the first gopls that takes its analyzers from vet.Suite.
const oldest = "v0.23.0"

// release is a gopls that can be built.
type release struct {
	version string
	goLine  string // of its go.mod: 1.26.0
	tools   string // the version of golang.org/x/tools that it is made for
}

// stable reports whether a version is a release and not one before it.
func stable(v string) bool { return semver.Prerelease(v) == "" }

// choose gives the release of that version, or the newest that the go command can build.
func (g *goCommand) choose(wanted string) (*release, error) {
	switch {
	case wanted == "":
	case semver.Canonical(wanted) != wanted:
		return nil, fmt.Errorf("-version %s: want a version of gopls, such as %s", wanted, oldest)
	case semver.Compare(wanted, oldest) < 0:
		return nil, fmt.Errorf("-version %s: the rules can be put into gopls %s and later", wanted, oldest)
	}
	if wanted == "" {
		return g.newest()
	}
	r, err := g.look(wanted)
	if err != nil {
		all, listed := g.versions()
		if listed == nil && !slices.Contains(all, wanted) {
			return nil, fmt.Errorf("-version %s: there is no such gopls; the newest is %s", wanted, last(all))
		}
		return nil, fmt.Errorf("-version %s: %w", wanted, err)
	}
	if !g.builds(r) && !g.switches() {
		return nil, fmt.Errorf("-version %s: gopls %s needs Go %s, and the go command is %s: leave -version out for the newest that it can build, or install a newer Go",
			wanted, wanted, r.goLine, g.version)
	}
	return r, nil
}

// versions lists the versions of gopls, from the oldest to the newest.
func (g *goCommand) versions() ([]string, error) {
	var module struct{ Versions []string }
	if err := g.decode(&module, "list", "-mod=mod", "-m", "-versions", "-json", gopls); err != nil {
		return nil, err
	}
	return module.Versions, nil
}

// newest gives the newest release that the go command builds as it is.
func (g *goCommand) newest() (*release, error) {
	all, err := g.versions()
	if err != nil {
		return nil, err
	}
	return g.newestOf(all)
}

func (g *goCommand) newestOf(all []string) (*release, error) {
	seen := false
	for _, v := range slices.Backward(all) {
		if !stable(v) || semver.Compare(v, oldest) < 0 {
			continue
		}
		r, err := g.look(v)
		if err != nil {
			return nil, err
		}
		if g.builds(r) {
			return r, nil
		}
		seen = true
	}
	if seen {
		return nil, fmt.Errorf("gopls %s and later need a newer Go than %s: install one", oldest, g.version)
	}
	return nil, fmt.Errorf("the module proxy lists no gopls %s or later: name a version with -version", oldest)
}

// last is the newest release of a list that is in order.
func last(all []string) string {
	for _, v := range slices.Backward(all) {
		if stable(v) {
			return v
		}
	}
	return "unknown"
}

// look reads the go.mod of a version of gopls.
func (g *goCommand) look(v string) (*release, error) {
	var module struct{ GoMod string }
	if err := g.decode(&module, "list", "-mod=mod", "-m", "-json", gopls+"@"+v); err != nil {
		return nil, err
	}
	var file struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	if err := g.decode(&file, "mod", "edit", "-json", module.GoMod); err != nil {
		return nil, err
	}
	r := &release{version: v, goLine: file.Go}
	for _, require := range file.Require {
		if require.Path == tools {
			r.tools = require.Version
		}
	}
	if r.tools == "" {
		return nil, fmt.Errorf("gopls %s requires no %s", v, tools)
	}
	return r, nil
}

// builds reports whether the go command is new enough for a release.
func (g *goCommand) builds(r *release) bool {
	// Builds that are not from a release call themselves "devel go1.27-..."; they are taken for new enough.
	running, _, _ := strings.Cut(g.version, " ")
	return !version.IsValid(running) || version.Compare("go"+r.goLine, running) <= 0
}
