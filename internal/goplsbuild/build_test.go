package goplsbuild

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wantError fails unless err is one line that has each text.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that has %q", texts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q lacks %q", err, text)
		}
	}
}

// occupied is a folder with a file where gopls shall go.
func occupied(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "gopls")
	if err := os.WriteFile(path, []byte("what was there"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// wantOnly fails unless dir has the one file gopls.
func wantOnly(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "gopls" {
		t.Errorf("left: %v", entries)
	}
}

// What the user set for their own builds must not get into this one.
func TestBuildMakesAGoplsWithTheRules(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	t.Setenv("TMPDIR", t.TempDir())
	dir, path := occupied(t)
	var said []string
	built, err := Build(t.Context(), Request{
		Output: path, Version: oldest, Options: `{"exclude":["it's/**"],"pooler":"session"}`,
		Say: func(doing string) { said = append(said, doing) },
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOnly(t, dir)
	if built.Path != path || built.Version != oldest || !strings.HasPrefix(built.GoVersion, "go1.") || !isSource(built.Rules) {
		t.Errorf("built %+v", built)
	}
	if len(said) < 4 {
		t.Errorf("said %q", said)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}

	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), oldest+"+advisorylint") {
		t.Errorf("gopls version: %v\n%s", err, out)
	}
	out, err = exec.Command(path, "version", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Main     struct{ Version string }
		Settings []struct{ Key, Value string }
	}
	if err := json.Unmarshal(out, &info); err != nil || info.Main.Version != "(devel)" {
		t.Errorf("version -json: %v: main module %+v", err, info.Main)
	}
	for _, s := range info.Settings {
		if s.Key == "-ldflags" && !strings.Contains(s.Value, `{"exclude":["it\u0027s/**"],"pooler":"session"}`) {
			t.Errorf("-ldflags %s", s.Value)
		}
	}
}

// fakeSource is a module of this one's name with the files given.
func fakeSource(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + itself + "\n\ngo 1.26.0\n"
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuildThatFailsLeavesWhatWasThere(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"does not compile": {
			map[string]string{"analyzer/gopls/gopls.go": "package goplsrules\n\nvar x int = \"\"\n"},
			"gopls.go:3:13: cannot use \"\"",
		},
		"has no rules": {
			map[string]string{"analyzer/gopls/gopls.go": "package goplsrules\n"},
			"gopls " + oldest + ": built, but the rules are not inside",
		},
		"does not run": {
			map[string]string{"analyzer/gopls/gopls.go": "package goplsrules\n\nimport \"os\"\n\nfunc init() { println(\"away\"); os.Exit(7) }\n"},
			"built, but it does not run: away",
		},
		"is of another time": {
			map[string]string{"analyzer/analyzer.go": "package analyzer\n"},
			"analyzer/gopls",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dir, path := occupied(t)
			_, err := Build(t.Context(), Request{Output: path, Version: oldest, Source: fakeSource(t, c.files)})
			wantError(t, err, c.want)
			wantOnly(t, dir)
			if data, err := os.ReadFile(path); err != nil || string(data) != "what was there" {
				t.Errorf("%v: %s", err, data)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
				t.Errorf("left in the folder for temporary files: %v, %v", left, err)
			}
		})
	}
}

func TestBuildRefusesAPlaceThatCannotBe(t *testing.T) {
	dir, path := occupied(t)
	for output, want := range map[string]string{
		"":                                    "-o is missing",
		dir:                                   "is a directory: want a file, as in -o " + path,
		filepath.Join(dir, "no", "gopls"):     "there is no directory " + filepath.Join(dir, "no"),
		filepath.Join(path, "gopls"):          "there is no directory " + path,
		filepath.Join("/proc/self", "gopls"):  "/proc/self cannot be written to",
		filepath.Join(dir, "gopls\x00", "no"): "there is no directory",
	} {
		_, err := Build(t.Context(), Request{Output: output, Version: oldest})
		wantError(t, err, want)
	}
	wantOnly(t, dir)
}

func TestBuildNeedsTheGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), Request{Output: filepath.Join(t.TempDir(), "gopls")})
	wantError(t, err, "there is no go command in PATH", "https://go.dev/dl")
}
