package goplsbuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wrong is a configuration file that the analyzer of package goplsrules must complain of, whatever the
// rules' options are; unknown is what the complaint has in it.
const (
	wrong   = "rules: [" + unknown + "]\n"
	unknown = "nosuchrule"
)

// verify lets a gopls look at a package where the rules have something to say.
func verify(ctx context.Context, gopls, dir string) error {
	for name, text := range map[string]string{
		"go.mod":             "module example.org/check\n\ngo 1.26\n",
		"check.go":           "package check\n",
		".advisorylint.yaml": wrong,
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, gopls, "check", "check.go")
	cmd.Dir = dir
	// What gopls keeps of this is of no use to anybody.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "PWD="+dir, "GOPLSCACHE="+filepath.Join(dir, "cache"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped")
	case strings.Contains(stdout.String(), unknown):
		return nil
	case err != nil:
		return errors.New("built, but it does not run: " + complaint(stderr.String(), err))
	}
	return errors.New("built, but the rules are not inside: it does not read them as advisorylint knows it; choose another -version")
}
