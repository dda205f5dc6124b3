package goplsbuild

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestAProgramKnowsTheVersionItWasBuiltFrom(t *testing.T) {
	module := func(path, version, sum string, replace *debug.Module) debug.Module {
		return debug.Module{Path: path, Version: version, Sum: sum, Replace: replace}
	}
	tool := module(itself, "v1.2.3", "h1:x", nil)
	replaced := module(itself, "v1.2.3", "", &debug.Module{Path: "../advisorylint"})
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"go install":         {debug.BuildInfo{Main: tool}, "v1.2.3"},
		"a checkout":         {debug.BuildInfo{Main: module(itself, "(devel)", "", nil)}, ""},
		"a stamped checkout": {debug.BuildInfo{Main: module(itself, "v1.2.4-0.20260101000000-abcdefabcdef+dirty", "", nil)}, ""},
		"go tool":            {debug.BuildInfo{Main: module("example.org/shop", "(devel)", "", nil), Deps: []*debug.Module{&tool}}, "v1.2.3"},
		"go tool, replaced":  {debug.BuildInfo{Main: module("example.org/shop", "(devel)", "", nil), Deps: []*debug.Module{&replaced}}, ""},
	} {
		if got := published(&c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSourceMustBeThisModule(t *testing.T) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module "+itself+"/bench\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{other, t.TempDir(), filepath.Join(other, "none")} {
		_, err := locate(source)
		wantError(t, err, "-source "+source+" is not the source of advisorylint")
	}
	got, err := locate(filepath.Join("..", ".."))
	if err != nil || !filepath.IsAbs(got.dir) || got.version != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if here, err := locate(""); err != nil || here != got {
		t.Errorf("without -source %+v, %v; want %+v", here, err, got)
	}
}
