package goplsbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// goCommand is the user's go command, run in a folder that is part of no module or workspace of theirs.
type goCommand struct {
	ctx       context.Context
	path, dir string
	version   string // go1.26.3
	toolchain string // GOTOOLCHAIN: local, auto, a version, a version with +auto
}

func findGo(ctx context.Context, dir string) (*goCommand, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("there is no go command in PATH, which gopls is built with: install Go from https://go.dev/dl")
	}
	g := &goCommand{ctx: ctx, path: path, dir: dir}
	out, err := g.run("env", "GOVERSION", "GOTOOLCHAIN")
	if err != nil {
		return nil, err
	}
	g.version, g.toolchain, _ = strings.Cut(strings.TrimSpace(out), "\n")
	return g, nil
}

// switches reports whether the go command gets itself a newer toolchain when a module wants one.
func (g *goCommand) switches() bool {
	return strings.HasSuffix(g.toolchain, "auto") || strings.HasSuffix(g.toolchain, "path")
}

// run gives what the go command prints. Its environment is the user's, who may have a proxy, private
// modules or build settings in it; of their workspace it must not know.
func (g *goCommand) run(args ...string) (string, error) {
	cmd := exec.CommandContext(g.ctx, g.path, args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+g.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case g.ctx.Err() != nil:
		return "", errors.New("stopped")
	case err != nil:
		return "", fmt.Errorf("go %s: %s", args[0], complaint(stderr.String(), err))
	}
	return stdout.String(), nil
}

// decode runs the go command and reads the JSON that it prints.
func (g *goCommand) decode(into any, args ...string) error {
	out, err := g.run(args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("go %s: not the JSON that it should print: %w", args[0], err)
	}
	return nil
}

// complaint is the line of the go command's output that says what is wrong.
func complaint(stderr string, err error) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		return strings.TrimPrefix(line, "go: ")
	}
	return err.Error()
}
