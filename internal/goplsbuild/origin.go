package goplsbuild

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
)

// itself is this module's path.
const itself = "github.com/advisorylint/advisorylint"

// origin is where the build takes this module from: a version, or a directory.
type origin struct{ version, dir string }

func (o origin) String() string { return o.version + o.dir }

// locate says where this module is: at source, when that is given; else where this program was built
// from. One that was built from a version of the module has a sum of it.
func locate(source string) (origin, error) {
	if source != "" {
		dir, err := filepath.Abs(source)
		if err != nil || !isSource(dir) {
			return origin{}, fmt.Errorf("-source %s is not the source of advisorylint: want the directory whose go.mod says module %s", source, itself)
		}
		return origin{dir: dir}, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := published(info); v != "" {
			return origin{version: v}, nil
		}
	}
	if dir := compiledFrom(); dir != "" {
		return origin{dir: dir}, nil
	}
	return origin{}, errors.New("this advisorylint was built from a source that it does not know the place of any more: name it with -source DIR, or install a release with 'go install " + itself + "/cmd/advisorylint@latest'")
}

// published is the version of this module that a program was built from; "" for one that was built
// from a directory.
func published(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == itself && m.Replace == nil && m.Sum != "" {
			return m.Version
		}
	}
	return ""
}

// compiledFrom is the directory that this module was compiled in, when that is still there. With
// -trimpath it is not known.
func compiledFrom() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file))) // internal/goplsbuild/origin.go
	if !isSource(dir) {
		return ""
	}
	return dir
}

var moduleLine = regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(itself) + `\s*$`)

func isSource(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && moduleLine.Match(data)
}
