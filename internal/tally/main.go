// Tally runs every test of every module of this repository and ends with one total.
//
//	go run ./internal/tally [module folder...]
//
// Without folders it takes every folder with a go.mod that git knows or could add. The engine's
// packages and the runtime's run under the race detector. TAGS=long in the environment adds the long
// forms of tests, and the time that they need.
// It fails when a test fails, when a package does not build, and when no test ran at all.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

// timeout bounds one package's tests. Starting the servers on a busy machine is part of it.
const (
	timeout     = "15m"
	longTimeout = "60m"
)

func main() {
	modules := os.Args[1:]
	if len(modules) == 0 {
		var err error
		if modules, err = modulesOf("."); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	start := time.Now()
	total := newTally(os.Stdout)
	for _, dir := range modules {
		fmt.Printf("== module in %s\n", dir)
		if err := testModule(dir, total); err != nil {
			total.trouble(dir, err)
		}
	}
	total.printNames()
	fmt.Printf("== total: %d modules; %s; %s\n", len(modules), total, time.Since(start).Round(time.Second))
	if total.bad() {
		os.Exit(1)
	}
}

// modulesOf returns the folders below root that have a go.mod, the shortest path first, so that the
// root module is tested before what builds on it. Files that are not committed yet count; ignored
// ones do not.
func modulesOf(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--",
		"go.mod", "**/go.mod")
	cmd.Dir = root
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for file := range strings.SplitSeq(string(out), "\x00") {
		if file != "" {
			dirs = append(dirs, path.Dir(file))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); a != "." && b != "." && d != 0 {
			return d
		}
		return strings.Compare(a, b) // "." sorts before every name
	})
	if len(dirs) == 0 {
		return nil, fmt.Errorf("git knows no go.mod in %s", root)
	}
	return dirs, nil
}

// testModule runs the tests of the module in dir. A module without packages, such as one that only
// pins tools, has none.
func testModule(dir string, total *tally) error {
	list := exec.Command("go", "list", "./...")
	list.Dir = dir
	packages, err := output(list)
	if err != nil || len(packages) == 0 {
		return err
	}
	if path.Clean(dir) != "." {
		return goTest(dir, total, false, []string{"./..."})
	}
	var race, plain []string
	for _, p := range strings.Fields(string(packages)) {
		if raced(p) {
			race = append(race, p)
		} else {
			plain = append(plain, p)
		}
	}
	return errors.Join(goTest(dir, total, true, race), goTest(dir, total, false, plain))
}

// raced reports whether a package of the root module is tested under the race detector: the runtime,
// the engine and its stages. The rules' own tests and those of the command do little but load the
// clients' source, which the detector makes three times as slow for nothing.
func raced(pkg string) bool {
	return strings.Contains(pkg, "/runtime/") ||
		strings.Contains(pkg, "/analyzer/internal/") && !strings.HasSuffix(pkg, "/fix")
}

// goTest runs the tests of some packages of the module in dir.
func goTest(dir string, total *tally, race bool, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	args := []string{"test", "-json", "-timeout=" + timeout}
	if tags := os.Getenv("TAGS"); tags != "" {
		args = []string{"test", "-json", "-timeout=" + longTimeout, "-tags=" + tags}
	}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := total.read(events)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return readErr
}

// output runs a command and gives what it printed, or an error with what it complained of.
func output(cmd *exec.Cmd) ([]byte, error) {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, complaint.Bytes())
	}
	return out, nil
}
