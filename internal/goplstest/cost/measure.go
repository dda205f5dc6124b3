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
	heap int64 // bytes, what was left at the end
}

// cost is what one server took in one round.
type cost struct {
	cold, warm usage
	edit       time.Duration // CPU for one edit and what it makes the server look at
}

// measure runs a server three times: with nothing kept, with what that kept, and once more with edits.
func measure(ctx context.Context, gopls, cache, dir string, files []string, edits int) (cost, error) {
	var c cost
	var err error
	if c.cold, err = session(ctx, gopls, cache, dir, files, 0); err != nil {
		return c, err
	}
	if c.warm, err = session(ctx, gopls, cache, dir, files, 0); err != nil {
		return c, err
	}
	edited, err := session(ctx, gopls, cache, dir, files, edits)
	if err != nil {
		return c, err
	}
	if edits > 0 {
		c.edit = (edited.cpu - c.warm.cpu) / time.Duration(edits)
	}
	return c, nil
}

// session opens the files, waits until the server has looked at them all, and makes the edits, each of
// another text in the file in the middle.
func session(ctx context.Context, gopls, cache, dir string, files []string, edits int) (usage, error) {
	e, err := editor.Start(ctx, gopls, dir, nil, "GOPLSCACHE="+cache, "GOWORK=off")
	if err != nil {
		return usage{}, err
	}
	if err := use(ctx, e, files, edits); err != nil {
		_ = e.Process().Kill()
		return usage{}, err
	}
	heap, err := e.Heap(ctx)
	if err != nil {
		return usage{}, err
	}
	state, err := e.Stop(ctx)
	if err != nil {
		return usage{}, err
	}
	u := usage{cpu: state.UserTime() + state.SystemTime(), heap: heap}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss * 1024 // Linux counts in kilobytes
	}
	return u, nil
}

func use(ctx context.Context, e *editor.Editor, files []string, edits int) error {
	texts := make([]string, len(files))
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts[i] = string(data)
		if err := e.Open(ctx, path, texts[i]); err != nil {
			return err
		}
	}
	if err := e.Diagnose(ctx, files...); err != nil {
		return err
	}
	at := len(files) / 2
	for i := range edits {
		// A constant of another name each time, so that nothing of it is kept.
		text := texts[at] + fmt.Sprintf("\nconst edit%d = %d\n", time.Now().UnixNano(), i)
		if _, err := e.Change(ctx, files[at], strings.TrimPrefix(text, "\n")); err != nil {
			return err
		}
		if err := e.Diagnose(ctx, files[at]); err != nil {
			return err
		}
	}
	return nil
}
