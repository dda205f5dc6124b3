package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A binary is known by the ID that the go command gave it, and by no ID that others may have too.
func TestBuildIDIsTheGoCommands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("of ELF files")
	}
	dir := writeModule(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	for flags, known := range map[string]bool{"": true, "-s -w": true, "-buildid=": false, "-buildid=redacted": false, "-buildid=a/b/c/d": false} {
		name := filepath.Join(t.TempDir(), "program")
		runIn(t, dir, "go", "build", "-buildvcs=false", "-ldflags="+flags, "-o", name, ".").want(t, 0)
		out, err := exec.Command("go", "tool", "buildid", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if known {
			want = strings.TrimSpace(string(out))
		}
		if got := buildID(content[:32<<10]); got != want || known && got == "" {
			t.Errorf("with %q: %q, want %q", flags, got, want)
		}
	}
	for _, head := range []string{"", "\x7fELF", "\x7fELF\x02\x01\x04\x00\x00\x00Go\x00\x00", "\x7fELF\x02\x01xx\xff\xff\xff\xff\x04\x00\x00\x00Go\x00\x00a/b"} {
		if got := buildID([]byte(head)); got != "" {
			t.Errorf("%q: %q", head, got)
		}
	}
}
