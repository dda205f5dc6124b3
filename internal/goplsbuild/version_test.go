package goplsbuild

import (
	"errors"
	"slices"
	"testing"
)

// goOf is the installed go command, which takes itself for the version given.
func goOf(t *testing.T, version, toolchain string) *goCommand {
	t.Helper()
	g, err := findGo(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if version != "" {
		g.version = version
	}
	g.toolchain = toolchain
	return g
}

func TestTheNewestGoplsThatGoCanBuildIsTheDefault(t *testing.T) {
	g := goOf(t, "go1.26.0", "local")
	all, err := g.versions()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := g.choose("")
	if err != nil {
		t.Fatal(err)
	}
	if !g.builds(chosen) || !stable(chosen.version) || chosen.tools == "" {
		t.Errorf("chosen: %+v", chosen)
	}
	at := slices.Index(all, chosen.version)
	if at < slices.Index(all, oldest) {
		t.Errorf("%s of %v", chosen.version, all)
	}
	passed := 0
	for _, later := range all[at+1:] {
		r, err := g.look(later)
		if err != nil {
			t.Fatal(err)
		}
		if stable(later) && g.builds(r) {
			t.Errorf("%s is newer than %s", later, chosen.version)
		}
		passed++
	}
	if passed == 0 {
		t.Errorf("nothing was passed over: gopls v0.24.0 needs Go 1.27; versions: %v", all)
	}
}

func TestThePrereleasesAndTheTooOldAreNoDefault(t *testing.T) {
	_, err := goOf(t, "go1.26.0", "local").newestOf([]string{"v0.22.0", "v0.23.0-pre.2"})
	wantError(t, err, "the module proxy lists no gopls v0.23.0 or later: name a version with -version")
}

func TestVersionThatCannotBeBuilt(t *testing.T) {
	for wanted, texts := range map[string][]string{
		"latest":      {"-version latest: want a version of gopls"},
		"0.23.0":      {"-version 0.23.0: want a version of gopls, such as v0.23.0"},
		"v0.23":       {"-version v0.23: want a version"},
		"v0.22.0":     {"-version v0.22.0: the rules can be put into gopls v0.23.0 and later"},
		"v0.9999.0":   {"-version v0.9999.0: there is no such gopls; the newest is v0."},
		"v0.23.0-rc1": {"-version v0.23.0-rc1: the rules can be put into gopls v0.23.0 and later"},
		"v0.23.1-rc1": {"-version v0.23.1-rc1: there is no such gopls"},
	} {
		_, err := goOf(t, "", "local").choose(wanted)
		wantError(t, err, texts...)
	}
}

func TestVersionThatNeedsANewerGo(t *testing.T) {
	_, err := goOf(t, "go1.25.3", "local").choose(oldest)
	wantError(t, err, "-version v0.23.0: gopls v0.23.0 needs Go 1.26.0, and the go command is go1.25.3")
	_, err = goOf(t, "go1.25.3", "local").choose("")
	wantError(t, err, "gopls v0.23.0 and later need a newer Go than go1.25.3")
	for _, toolchain := range []string{"auto", "go1.25.3+auto", "path"} {
		if _, err := goOf(t, "go1.25.3", toolchain).choose(oldest); err != nil {
			t.Errorf("GOTOOLCHAIN=%s gets itself a newer one, and yet: %v", toolchain, err)
		}
	}
	if _, err := goOf(t, "devel go1.27-abcdef", "local").choose(oldest); err != nil {
		t.Error(err)
	}
}

func TestVersionWithoutANetwork(t *testing.T) {
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	for _, c := range []struct{ proxy, want string }{
		{"off", "disabled by GOPROXY=off"},
		{"http://127.0.0.1:1", "connection refused"},
	} {
		t.Setenv("GOPROXY", c.proxy)
		for _, wanted := range []string{"", oldest} {
			_, err := goOf(t, "", "local").choose(wanted)
			wantError(t, err, "go list: ", c.want)
		}
	}
}

func TestComplaintIsTheFirstLineThatSaysSomething(t *testing.T) {
	failed := errors.New("exit status 1")
	for stderr, want := range map[string]string{
		"": "exit status 1",
		"go: downloading example.org/a v1.0.0\ngo: example.org/a@v1.0.0: not found\n": "example.org/a@v1.0.0: not found",
		"# example.org/a\n./a.go:1:1: expected package\nmore\n":                       "./a.go:1:1: expected package",
	} {
		if got := complaint(stderr, failed); got != want {
			t.Errorf("of %q: %q, want %q", stderr, got, want)
		}
	}
}
