//go:build unix

package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// readyTimeout bounds a server's start. It is long because tests of several packages run at
	// once on few cores; a server that exits is noticed at once.
	readyTimeout = 2 * time.Minute

	// stopTimeout bounds a server's orderly stop, after which it is killed.
	stopTimeout = 10 * time.Second

	// startAttempts is how often a server that exits is started anew on other ports: every one of
	// them exits when its port is taken.
	startAttempts = 3
)

// spec says how a kind of server is started. Rows of it are in the server's own file.
type spec struct {
	name string

	// users are tried in turn as the server's user when the tests run as root: PostgreSQL, MariaDB
	// and PgBouncer refuse to run as root.
	users []string

	// ports is how many ports the server listens on. The first is the one that clients use.
	ports int

	// stop asks the server to end at once, data being of no value.
	stop syscall.Signal

	// prepare makes the server's data once; nil when there is nothing to make.
	prepare func(ws *workspace, f folder) error

	// command returns the server's command line for these ports.
	command func(f folder, ports []int) ([]string, error)

	// probe returns nil once the server answers a client.
	probe func(ports []int) error
}

// folder is a server's own folder and the user that it belongs to.
type folder struct {
	path string
	user *syscall.Credential // nil: the user that runs the tests
}

func (f folder) join(name string) string { return filepath.Join(f.path, name) }

// server is a running server.
type server struct {
	folder folder
	ports  []int
	proc   *process
}

// launch starts a server and returns when it answers.
func launch(s spec) (*server, error) {
	ws, err := openWorkspace()
	if err != nil {
		return nil, fmt.Errorf("%s: make a folder: %w", s.name, err)
	}
	f, err := newFolder(ws, s)
	if err != nil {
		return nil, fmt.Errorf("%s: make a folder: %w", s.name, err)
	}
	srv, err := launchIn(ws, s, f)
	if err != nil {
		os.RemoveAll(f.path)
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return srv, nil
}

// launchFor starts a server that stops when the test ends.
func launchFor(tb testing.TB, s spec) *server {
	tb.Helper()
	srv, err := launch(s)
	if err != nil {
		tb.Fatalf("testserver: %v", err)
	}
	tb.Cleanup(srv.close)
	return srv
}

func launchIn(ws *workspace, s spec, f folder) (*server, error) {
	if s.prepare != nil {
		if err := s.prepare(ws, f); err != nil {
			return nil, err
		}
	}
	var failures []error
	for range startAttempts {
		ports, err := freePorts(s.ports)
		if err != nil {
			return nil, err
		}
		argv, err := s.command(f, ports)
		if err != nil {
			return nil, err
		}
		proc, err := start(ws, f, s.stop, argv)
		if err != nil {
			return nil, err
		}
		err = proc.await(func() error { return s.probe(ports) })
		if err == nil {
			return &server{folder: f, ports: ports, proc: proc}, nil
		}
		proc.end()
		failures = append(failures, err)
		if !errors.Is(err, errExited) {
			break
		}
	}
	return nil, errors.Join(failures...)
}

// close stops the server and removes its folder.
func (s *server) close() {
	s.proc.end()
	os.RemoveAll(s.folder.path)
}

func newFolder(ws *workspace, s spec) (folder, error) {
	path, err := os.MkdirTemp(ws.root, s.name+"-")
	if err != nil {
		return folder{}, err
	}
	f := folder{path: path}
	if os.Geteuid() == 0 {
		if f.user, err = credential(s.users); err != nil {
			return folder{}, err
		}
		if err := os.Chown(path, int(f.user.Uid), int(f.user.Gid)); err != nil {
			return folder{}, err
		}
	}
	return f, nil
}

// process is a running server process, the leader of its own process group.
type process struct {
	ws   *workspace
	pid  int
	stop syscall.Signal
	log  string

	done chan struct{} // closed when the process has been collected
	err  error         // how it ended; read after done

	endOnce sync.Once
}

// start runs a program in the background, with its output in the file log of the folder. Everything
// that runs is noted for the watchdog: a program that makes a server's data would go on writing into
// the folder while it is removed.
func start(ws *workspace, f folder, stop syscall.Signal, argv []string) (*process, error) {
	log, err := os.Create(f.join("log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := f.command(argv)
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd.SysProcAttr, stop)
	if err := onSteadyThread(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p := &process{ws: ws, pid: cmd.Process.Pid, stop: stop, log: log.Name(), done: make(chan struct{})}
	noted := ws.note(p.pid, signalNames[stop])
	go func() {
		p.err = cmd.Wait()
		ws.forget(p.pid)
		close(p.done)
	}()
	if noted != nil {
		p.end()
		return nil, noted
	}
	return p, nil
}

// run runs a program to its end.
func (f folder) run(ws *workspace, argv ...string) error {
	p, err := start(ws, f, syscall.SIGKILL, argv)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		err = p.err
	case <-time.After(readyTimeout):
		p.end()
		err = fmt.Errorf("not done within %v", readyTimeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, p.logTail())
	}
	return nil
}

// signalNames are the names that the shell's kill takes.
var signalNames = map[syscall.Signal]string{
	syscall.SIGKILL: "KILL",
	syscall.SIGQUIT: "QUIT",
}

// command prepares a program that runs as the folder's user, in the folder and in a process group of
// its own, with an environment that holds nothing of the caller's: PGHOST, ETCD_NAME and the like
// would change the server.
func (f folder) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = f.path
	cmd.Env = []string{
		"PATH=" + searchPath(),
		"HOME=" + f.path, "TMPDIR=" + f.path, "LC_ALL=C", "TZ=UTC",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: f.user, Setpgid: true}
	return cmd
}

// errExited is the error of a server that ends instead of answering.
var errExited = errors.New("exited while starting")

// await returns when probe succeeds, or with the server's log when it has no chance any more. It
// looks for the exit after each probe, since the answer may be another server's, which took the
// port first. That the two speak the same protocol, and ours is yet to exit, is not seen.
func (p *process) await(probe func() error) error {
	deadline := time.Now().Add(readyTimeout)
	for {
		err := probe()
		select {
		case <-p.done:
			return fmt.Errorf("%w: %v\n%s", errExited, p.err, p.logTail())
		case <-time.After(10 * time.Millisecond):
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %v: %w\n%s", readyTimeout, err, p.logTail())
		}
	}
}

// logTail is the end of the server's log.
func (p *process) logTail() string {
	const most = 4 << 10
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// end stops the process and what it started, and returns when the process is gone.
func (p *process) end() {
	p.endOnce.Do(func() {
		p.signal(p.stop)
		select {
		case <-p.done:
		case <-time.After(stopTimeout):
			p.signal(syscall.SIGKILL)
			<-p.done
		}
	})
}

// signal sends to the whole group, unless the process is collected and the number free for others.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		syscall.Kill(-p.pid, sig)
	}
}

// onSteadyThread runs f on one operating system thread that lives as long as this process: the
// kernel sends the parent-death signal when the starting thread ends, not when the process does
// (prctl(2), PR_SET_PDEATHSIG), and Go ends idle locked threads with their goroutine.
func onSteadyThread(f func() error) error {
	steadyThread.Do(func() {
		go func() {
			runtime.LockOSThread()
			for job := range steadyJobs {
				job()
			}
		}()
	})
	result := make(chan error)
	steadyJobs <- func() { result <- f() }
	return <-result
}

var (
	steadyThread sync.Once
	steadyJobs   = make(chan func())
)
