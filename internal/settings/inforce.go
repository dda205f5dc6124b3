package settings

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/tools/go/analysis"
)

// Given is what a driver was told: by flags, or in the settings of the program that runs the rules.
type Given struct {
	Settings
	// Without are rules that are taken away from whatever else is chosen.
	Without []string
	// Files: what is not given is taken from the configuration file of each package's module.
	Files bool
	// FirstFix: a finding keeps one fix only, for drivers that apply all that there are.
	FirstFix bool
}

// Choice is Given with what the suite has to say about it.
type Choice struct {
	Given
	Defaults map[string]Form // the default set: every rule of the suite with the form that it has there
	// Find gives what the configuration file says that governs a directory, nil when there is none.
	Find func(dir string) (*File, error)
}

// File is a configuration file.
type File struct {
	Settings
	Path string
	// Lines are where the file gives each option.
	Lines map[string]int
}

// inForce is the choice of this process, nil when its driver made none.
var inForce atomic.Pointer[Choice]

// Use makes all rules follow c from now on. Where it is not called, each analyzer that a driver runs says
// all it can.
func Use(c *Choice) { inForce.Store(c) }

// InForce is what holds for one package. The nil InForce is that of a driver that made no choice.
type InForce struct {
	Settings
	File    *File // nil when none governs the package
	choice  *Choice
	exclude string // the directory that the patterns of Exclude start from
}

// Of gives what holds for the package of a pass. The error says what is wrong with its file.
func Of(pass *analysis.Pass) (*InForce, error) {
	version := ""
	if pass.Module != nil {
		version = pass.Module.Version
	}
	return inForce.Load().Of(directory(pass), version)
}

// directory is where the sources of a package are. What cgo makes is elsewhere: of one file it says where it
// comes from, of the other, which has no such source, the name tells (in the build cache, that it has none).
func directory(pass *analysis.Pass) string {
	for _, file := range pass.Files {
		name := pass.Fset.Position(file.Package).Filename
		if filepath.IsAbs(name) && filepath.Ext(name) == ".go" && filepath.Base(name) != "_cgo_gotypes.go" {
			return filepath.Dir(name)
		}
	}
	return ""
}

// In gives what holds for the packages in a directory of a module that is worked on.
func (c *Choice) In(dir string) (*InForce, error) { return c.Of(dir, "") }

// Of gives what holds for the packages in a directory of a module, which has a version when it is required by
// another: then its file is for those who work on it, and not for those who use it.
func (c *Choice) Of(dir, version string) (*InForce, error) {
	if c == nil {
		return nil, nil
	}
	f := &InForce{Settings: c.Settings, choice: c, exclude: ModuleRoot(dir)}
	source := ""
	if c.Files && version == "" && c.Find != nil && dir != "" {
		var err error
		if f.File, err = c.Find(dir); err != nil {
			return nil, err
		}
		if f.File != nil {
			f.Settings = c.Settings.Over(f.File.Settings)
			source = f.File.Path
			if !c.Has(Exclude) {
				f.exclude = filepath.Dir(f.File.Path)
			}
		}
	}
	say(source, &f.Settings)
	return f, nil
}

// ModuleRoot is the directory of the go.mod that governs dir; dir itself when there is none.
func ModuleRoot(dir string) string {
	for d := dir; ; {
		if info, err := os.Stat(filepath.Join(d, "go.mod")); err == nil && info.Mode().IsRegular() {
			return d
		}
		up := filepath.Dir(d)
		if up == d {
			return dir
		}
		d = up
	}
}

// Runs says how much of a rule runs.
func (f *InForce) Runs(rule string) Form {
	switch {
	case f == nil:
		return Full
	case slices.Contains(f.choice.Without, rule):
		return Off
	}
	return f.Form(rule, f.choice.Defaults[rule])
}

// Digest is a text that differs where what is reported of a package may differ. Severities are not in it:
// they are shown and change nothing.
func (f *InForce) Digest() (string, error) {
	if f == nil {
		return "", nil
	}
	s := f.Settings
	s.Severity = nil
	text, err := json.Marshal(struct {
		Settings Settings
		Exclude  string
		Without  []string
		FirstFix bool
	}{s, f.exclude, f.choice.Without, f.choice.FirstFix})
	return string(text), err
}

// FirstFix reports whether a finding may have one fix only.
func (f *InForce) FirstFix() bool { return f != nil && f.choice.FirstFix }

// Excludes reports whether nothing is to be said of a file: a pattern matches it or a directory that
// it is in.
func (f *InForce) Excludes(file string) bool {
	if f == nil || len(f.Exclude) == 0 {
		return false
	}
	rel, err := filepath.Rel(f.exclude, file)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for rel = filepath.ToSlash(rel); rel != "."; rel = path.Dir(rel) {
		for _, pattern := range f.Exclude {
			if doublestar.MatchUnvalidated(pattern, rel) {
				return true
			}
		}
	}
	return false
}
