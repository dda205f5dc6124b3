package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools are the paths of the programs that are compared.
type tools struct {
	floor, advisorylint, sqlclosecheck, staticcheck string
}

// build makes all programs in dir, with the same compiler.
func build(dir string) (tools, error) {
	gomod, err := output(exec.Command("go", "env", "GOMOD"))
	if err != nil {
		return tools{}, err
	}
	bench := filepath.Dir(strings.TrimSpace(string(gomod)))
	t := tools{
		floor: filepath.Join(dir, "floor"), advisorylint: filepath.Join(dir, "advisorylint"),
		sqlclosecheck: filepath.Join(dir, "sqlclosecheck"), staticcheck: filepath.Join(dir, "staticcheck"),
	}
	for _, b := range []struct{ module, pkg, to string }{
		{bench, "./floor", t.floor},
		{filepath.Dir(bench), "./cmd/advisorylint", t.advisorylint},
		{bench, "github.com/ryanrolds/sqlclosecheck", t.sqlclosecheck},
		{bench, "honnef.co/go/tools/cmd/staticcheck", t.staticcheck},
	} {
		cmd := exec.Command("go", "build", "-o", b.to, b.pkg)
		cmd.Dir = b.module
		if _, err := output(cmd); err != nil {
			return tools{}, err
		}
	}
	return t, nil
}

// fetch puts the module's source into dir, where it can be edited: the module cache is read-only and shared.
func (m module) fetch(dir string) error {
	cmd := exec.Command("go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = os.TempDir() // outside of this module, which does not import it
	out, err := output(cmd)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	if err := copyTree(dir, downloaded.Dir); err != nil {
		return err
	}
	for _, folder := range m.without {
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies files so that they can be written, which files of the module cache cannot.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

// output runs a command and gives what it printed, or an error with all that it said.
func output(cmd *exec.Cmd) ([]byte, error) {
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, complaint.String())
	}
	return out, nil
}
