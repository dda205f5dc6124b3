package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// usage is what one run of a command took.
type usage struct {
	elapsed time.Duration
	cpu     time.Duration // user and system, the command and its children
	memory  int64         // peak resident bytes of the largest process
}

// quantity is one of the figures of usage, and its text.
type quantity struct {
	name string
	of   func(usage) float64
	text func(float64) string
}

var (
	elapsed = quantity{"elapsed", func(u usage) float64 { return u.elapsed.Seconds() }, seconds}
	cpu     = quantity{"cpu", func(u usage) float64 { return u.cpu.Seconds() }, seconds}
	memory  = quantity{"memory", func(u usage) float64 { return float64(u.memory) }, megabytes}
)

func seconds(v float64) string   { return fmt.Sprintf("%.2f s", v) }
func megabytes(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }

// command is what is run, and the state that it is to find.
type command struct {
	name  string
	dir   string
	argv  []string
	env   []string
	found int          // the exit code that says it works and reports something; 0 when there is none
	empty string       // a folder that is emptied before; none when empty
	edit  string       // a file that has one more comment while the command runs; none when empty
	check func() error // of what the command left; nil for nothing
}

// run brings about the command's state, measures it, and takes an edit back.
func (c command) run() (u usage, err error) {
	if c.empty != "" {
		if err := os.RemoveAll(c.empty); err != nil {
			return u, err
		}
	}
	if c.edit != "" {
		restore, err := edit(c.edit)
		if err != nil {
			return u, err
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	u, err = c.measure()
	if err == nil && c.check != nil {
		err = c.check()
	}
	return u, err
}

// edit adds a comment to a file, and gives what puts the file back as it was, its time included: the go
// command keeps what it knows of a folder by the times of its files.
func edit(file string) (restore func() error, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	// The time makes the text new to the build cache as well, which outlives this process.
	edited := fmt.Appendf(slices.Clone(text), "\n// Edited at %s.\n", time.Now().Format(time.RFC3339Nano))
	return func() error {
		return errors.Join(os.WriteFile(file, text, info.Mode()), os.Chtimes(file, info.ModTime(), info.ModTime()))
	}, os.WriteFile(file, edited, info.Mode())
}

func (c command) measure() (usage, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	err := cmd.Run()
	u := usage{elapsed: time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == c.found) {
		return u, fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, said.Bytes())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if rusage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = rusage.Maxrss * maxrssUnit()
	}
	return u, nil
}

// maxrssUnit is what the kernel counts the peak memory in: kilobytes (getrusage(2)), on Darwin bytes.
func maxrssUnit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}

// median is of one figure of the runs: the middle one, or the mean of the two in the middle; 0 of none.
func median(usages []usage, of func(usage) float64) float64 {
	if len(usages) == 0 {
		return 0
	}
	values := make([]float64, len(usages))
	for i, u := range usages {
		values[i] = of(u)
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
