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

// ratio is a quantity that is compared, and how much more of it the subject may take.
type ratio struct {
	quantity
	goal float64
}

type command struct {
	name  string
	argv  []string
	env   string // one variable, NAME=value; empty for none
	found int    // the exit code that says it works and reports something; 0 when there is none
}

// comparison is of two commands in the same folder.
type comparison struct {
	title         string
	base, subject command
	ratios        []ratio
	before        func() error // before each run; nil for nothing
}

// run measures both commands in turns, after one run of each that fills the caches, and prints the
// ratios of the medians.
func (c comparison) run(runs int, dir string) error {
	var base, subject []usage
	for i := range runs + 1 {
		for _, side := range []struct {
			command
			usages *[]usage
		}{{c.base, &base}, {c.subject, &subject}} {
			if c.before != nil {
				if err := c.before(); err != nil {
					return err
				}
			}
			u, err := side.measure(dir)
			if err != nil {
				return err
			}
			if i > 0 {
				*side.usages = append(*side.usages, u)
			}
		}
	}
	for _, r := range c.ratios {
		fmt.Println(c.line(r, median(base, r.of), median(subject, r.of), runs))
	}
	return nil
}

func (c comparison) line(r ratio, base, subject float64, runs int) string {
	verdict := "within"
	if subject/base > r.goal {
		verdict = "ABOVE"
	}
	return fmt.Sprintf("%-26s %-8s %s %s, %s %s: ratio %.2f, %s the goal of %.2f (medians of %d)",
		c.title, r.name, c.base.name, r.text(base), c.subject.name, r.text(subject), subject/base, verdict, r.goal, runs)
}

func (c command) measure(dir string) (usage, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = dir
	if c.env != "" {
		cmd.Env = append(os.Environ(), c.env)
	}
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

// median is of one figure of the runs: the middle one, or the mean of the two in the middle.
func median(usages []usage, of func(usage) float64) float64 {
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
