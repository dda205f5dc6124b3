//go:build unix

package stress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// workerVariable makes a test binary a worker: the name that it was registered with. The other has its
// arguments, as JSON.
const (
	workerVariable    = "STRESS_WORKER"
	argumentsVariable = "STRESS_ARGUMENTS"
)

var workers = map[string]func(*Worker) error{}

// Register says what a process of this name does. A test file calls it in an init function.
func Register(name string, run func(*Worker) error) {
	if _, twice := workers[name]; twice {
		panic("stress: worker " + name + " is registered twice")
	}
	workers[name] = run
}

// Main is the first call of TestMain in a package that starts workers. In a worker it does not return:
//
//	func TestMain(m *testing.M) {
//		stress.Main()
//		os.Exit(m.Run()) // or testserver.Main(m)
//	}
func Main() {
	name := os.Getenv(workerVariable)
	if name == "" {
		return
	}
	os.Exit(work(name))
}

func work(name string) int {
	w := &Worker{in: bufio.NewReader(os.Stdin)}
	run, known := workers[name]
	if !known {
		fmt.Fprintf(os.Stderr, "stress: no worker %q is registered\n", name)
		return 2
	}
	if err := json.Unmarshal([]byte(os.Getenv(argumentsVariable)), &w.arguments); err != nil {
		fmt.Fprintf(os.Stderr, "stress: arguments of worker %q: %v\n", name, err)
		return 2
	}
	if err := run(w); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return 1
	}
	return 0
}

// A Worker is this process, where it was started by Start.
type Worker struct {
	arguments []string
	in        *bufio.Reader
}

// Arguments are those of Start.
func (w *Worker) Arguments() []string { return w.arguments }

// Say gives a line to the process that started this one, which must hear it: the thousandth that it did
// not waits.
func (w *Worker) Say(format string, args ...any) {
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// Hear waits for a line that the other process tells. An error says that it tells no more, or has ended.
func (w *Worker) Hear() (string, error) {
	line, err := w.in.ReadString('\n')
	return string(bytes.TrimSuffix([]byte(line), []byte("\n"))), err
}

// A Process is a worker, seen from the process that started it.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr bytes.Buffer
	done   chan struct{}
	err    error // of the process; after done
}

// Start runs this test binary again, as n workers of a name. They are killed when the test ends, also
// those that were stopped, and when this process ends before.
func Start(tb testing.TB, n int, name string, arguments ...string) []*Process {
	tb.Helper()
	all := make([]*Process, n)
	for i := range all {
		p, err := start(name, arguments)
		if err != nil {
			tb.Fatalf("stress: start worker %s: %v", name, err)
		}
		all[i] = p
		tb.Cleanup(p.Kill)
	}
	return all
}

func start(name string, arguments []string) (*Process, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	p := &Process{lines: make(chan string, 1000), done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), workerVariable+"="+name, argumentsVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	dieWithParent(p.cmd.SysProcAttr)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for the end of its parent. A
		// goroutine that is locked to its thread keeps it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if started <- err; err == nil {
			p.read(out)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// read keeps what the worker says until its end, and collects it.
func (p *Process) read(out io.Reader) {
	defer close(p.done)
	defer close(p.lines)
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
	if p.err = p.cmd.Wait(); p.err != nil {
		p.err = fmt.Errorf("worker %d: %w: %s", p.Pid(), p.err, p.stderr.Bytes())
	}
}

// Pid is the worker's process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Next waits for the next line that the worker says. False says that it ended without.
func (p *Process) Next(tb testing.TB, within time.Duration) (line string, ok bool) {
	tb.Helper()
	select {
	case line, ok = <-p.lines:
		return line, ok
	case <-time.After(within):
		tb.Fatalf("stress: worker %d says nothing within %v", p.Pid(), within)
		return "", false
	}
}

// Tell gives a line to the worker.
func (p *Process) Tell(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// Stop stops the worker with SIGSTOP, Continue lets it go on.
func (p *Process) Stop() error     { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *Process) Continue() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Kill ends the worker with SIGKILL and returns when it is gone. It is nothing for one that has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // its only error is that the process has ended
	for {
		select {
		case <-p.done:
			return
		case <-p.lines: // what nobody wanted to hear
		}
	}
}

// Wait waits for the worker's end. An error is that of its exit, with what it wrote to stderr. What it
// said before can still be had by Next.
func (p *Process) Wait(tb testing.TB, within time.Duration) error {
	tb.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(within):
		tb.Fatalf("stress: worker %d does not end within %v", p.Pid(), within)
		return nil
	}
}
