package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unload releases a crane a second time in one file, so that two fixes meet in its imports.
const unload = `
// Rest gives the crane back for the night.
func Rest(ctx context.Context, conn *sql.Conn, crane int64) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", crane); err != nil {
		return err
	}
	return nil
}
`

// Both findings of the file have two fixes, of which the second needs another module.
func TestFixAppliesTheFirstFix(t *testing.T) {
	p := newProject(t)
	p.write(t, "crane/crane.go", func(text string) string { return text + unload })
	p.lint(t, "./crane").want(t, unreadAnswer, "crane/crane.go:24:15 unlockresult")

	fixed := p.lint(t, "--fix", "./crane")
	fixed.want(t)
	if strings.Contains(fixed.log, "skipped") {
		t.Errorf("fixes are left out:\n%s", fixed.log)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "crane/crane.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if strings.Count(text, ".Scan(&unlocked)") != 2 || strings.Count(text, "\t\"errors\"\n") != 1 || strings.Contains(text, "pglock") {
		t.Errorf("the file is now\n%s", text)
	}
	build := exec.Command("go", "vet", "./crane")
	build.Dir = p.dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s\n%s", err, out, text)
	}
	p.lint(t, "./crane").want(t)
}
