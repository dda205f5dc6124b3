//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/advisorylint/advisorylint/internal/goplstest/editor"
)

// usage is what one session took, from the start of the server to its end. The go commands that the server
// runs are in it: they are the same for both.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes, the most that was resident
	heap int64 // bytes, what is held when all has been looked at
	edit time.Duration
}

// cost is what one server took in one round.
type cost struct {
	cold, warm usage
}

// measure runs a server twice: with nothing kept, and with what the first kept, when edits are made too.
func measure(ctx context.Context, gopls, cache, dir string, files []string, edits int) (cost, error) {
	var c cost
	var err error
	if c.cold, err = session(ctx, gopls, cache, dir, files, 0); err != nil {
		return c, err
	}
	c.warm, err = session(ctx, gopls, cache, dir, files, edits)
	return c, err
}

// settle is how long a server lives on when it has looked at all, as it does with an editor: it keeps its
// findings in the background, and does not wait for that when it ends.
const settle = 5 * time.Second

// session opens the files, waits until the server has looked at them all, and makes the edits, each of
// another text in the file in the middle.
func session(ctx context.Context, gopls, cache, dir string, files []string, edits int) (usage, error) {
	e, err := editor.Start(ctx, gopls, dir, nil, "GOPLSCACHE="+cache, "GOWORK=off")
	if err != nil {
		return usage{}, err
	}
	u, err := use(ctx, e, files, edits)
	if err != nil {
		_ = e.Process().Kill()
		return u, err
	}
	time.Sleep(settle)
	state, err := e.Stop(ctx)
	if err != nil {
		return usage{}, err
	}
	u.cpu = state.UserTime() + state.SystemTime() - u.edit*time.Duration(edits)
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss * 1024 // Linux counts in kilobytes
	}
	return u, nil
}

func use(ctx context.Context, e *editor.Editor, files []string, edits int) (usage, error) {
	var u usage
	texts := make([]string, len(files))
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return u, err
		}
		texts[i] = string(data)
		if err := e.Open(ctx, path, texts[i]); err != nil {
			return u, err
		}
	}
	if err := e.Diagnose(ctx, files...); err != nil {
		return u, err
	}
	var err error
	if u.heap, err = e.Heap(ctx); err != nil || edits == 0 {
		return u, err
	}
	before, err := spent(e.Process().Pid)
	if err != nil {
		return u, err
	}
	at := len(files) / 2
	for i := range edits {
		// A constant of another name each time, so that nothing of it is kept.
		text := texts[at] + fmt.Sprintf("\nconst edit%d = %d\n", time.Now().UnixNano(), i)
		if _, err := e.Change(ctx, files[at], text); err != nil {
			return u, err
		}
		if err := e.Diagnose(ctx, files[at]); err != nil {
			return u, err
		}
	}
	after, err := spent(e.Process().Pid)
	u.edit = (after - before) / time.Duration(edits)
	return u, err
}

// tick is the unit of the times in /proc, which Linux has as 100 in a second for all programs (proc(5),
// sysconf(_SC_CLK_TCK)).
const tick = time.Second / 100

// spent is the CPU time of a process that runs: utime and stime of proc_pid_stat(5).
func spent(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name may have spaces in it
	var user, system time.Duration
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return (user + system) * tick, nil
}
