//go:build unix

package testserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// workspace is the temporary folder of this test binary, and the process that removes it.
//
//	pids/<pid>   a running process group; the content is the name of the signal that stops it
//	<server>.*/  a server's own folder
type workspace struct {
	root string

	// alive is the write end of the watchdog's standard input. Nothing is ever written: its being
	// open says that this process lives.
	alive    io.Closer
	watchdog *exec.Cmd
}

// watchdogScript waits for the end of its input, stops the servers that are still noted in
// $1/pids, and removes the folder $1. A server gets 10 s to stop. A zombie counts as stopped, since
// in a container the first process may never collect the orphans, but only once it has no other
// thread: until then its sockets and files are open. What else is in its group may write for a
// moment longer, and then the folder is not empty when it is to be removed.
const watchdogScript = `
cat >/dev/null
running() {
	kill -0 "$1" 2>/dev/null || return 1
	[ -r "/proc/$1/stat" ] || return 0
	read -r stat <"/proc/$1/stat" || return 1
	case $stat in *") Z "*) ;; *) return 0 ;; esac
	set -- "/proc/$1/task/"*
	[ $# -gt 1 ]
}
for note in "$1"/pids/*; do
	[ -e "$note" ] && kill -s "$(cat "$note")" -- "-${note##*/}" 2>/dev/null
done
for note in "$1"/pids/*; do
	tries=0
	while [ -e "$note" ] && running "${note##*/}" && [ $tries -lt 200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	[ -e "$note" ] && kill -s KILL -- "-${note##*/}" 2>/dev/null
done
tries=0
until rm -rf -- "$1" 2>/dev/null || [ $tries -ge 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
`

// theWorkspace is made on first use, so that a test binary that needs no server makes nothing.
var (
	theWorkspace    *workspace
	theWorkspaceErr error
	workspaceMu     sync.Mutex
)

// openWorkspace returns the workspace of this test binary.
func openWorkspace() (*workspace, error) {
	workspaceMu.Lock()
	defer workspaceMu.Unlock()
	if theWorkspace == nil && theWorkspaceErr == nil {
		theWorkspace, theWorkspaceErr = newWorkspace()
	}
	return theWorkspace, theWorkspaceErr
}

func newWorkspace() (*workspace, error) {
	root, err := os.MkdirTemp(tempFolder(), "testserver-")
	if err != nil {
		return nil, err
	}
	// The servers' users must be able to pass through, not to look.
	if err := os.Chmod(root, 0o711); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(root, "pids"), 0o700); err != nil {
		return nil, err
	}
	// Its output is not ours: go test waits until every holder of the test's output has closed it.
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "testserver-watchdog", root)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + searchPath()}
	// Its own session, so that an interrupt from the terminal ends the tests and not the cleaning.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		os.RemoveAll(root)
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &workspace{root: root, alive: alive, watchdog: cmd}, nil
}

// stopAll lets the watchdog do its work and waits for it: one way of cleaning, whatever the end.
func stopAll() {
	workspaceMu.Lock()
	defer workspaceMu.Unlock()
	if theWorkspace == nil {
		return
	}
	theWorkspace.alive.Close()
	if err := theWorkspace.watchdog.Wait(); err != nil {
		fmt.Fprintf(os.Stderr, "testserver: watchdog of %s: %v\n", theWorkspace.root, err)
	}
	theWorkspace, theWorkspaceErr = nil, fmt.Errorf("the servers were stopped by Main")
}

// note tells the watchdog that a process group runs and which signal stops it.
func (w *workspace) note(pid int, stop string) error {
	return os.WriteFile(w.notePath(pid), []byte(stop), 0o600)
}

// forget takes the note back as soon as the process is collected: from then on the number may
// become another process's.
func (w *workspace) forget(pid int) {
	os.Remove(w.notePath(pid))
}

func (w *workspace) notePath(pid int) string {
	return filepath.Join(w.root, "pids", strconv.Itoa(pid))
}

// tempFolder is the folder for temporary files that a server's user can pass through, too. Only
// root starts servers as another user, and root's TMPDIR may be root's alone.
func tempFolder() string {
	dir := os.TempDir()
	if os.Geteuid() != 0 {
		return dir
	}
	for _, candidate := range []string{dir, "/tmp", "/var/tmp"} {
		if openToAll(candidate) {
			return candidate
		}
	}
	return dir
}

// openToAll reports whether every user may pass through dir and all folders above it.
func openToAll(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
