package locktest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// defectVariable makes TestSuite run against a server with that defect.
const defectVariable = "LOCKTEST_DEFECT"

func TestSuite(t *testing.T) {
	m := newMemory(defect(os.Getenv(defectVariable)))
	b := m.backend()
	if m.defect != "" {
		b.Patience = time.Second // what is waited for is not to come
		sound := b.New
		b.New = func(tb testing.TB, opts ...lock.Option) *lock.Locker {
			return sound(tb, append([]lock.Option{lock.ReleaseTimeout(100 * time.Millisecond)}, opts...)...)
		}
	}
	Run(t, b)
}

// TestSuiteSees runs TestSuite in another process, where its failure is what is wanted, against servers
// that do one thing wrong each.
func TestSuiteSees(t *testing.T) {
	free := make(chan struct{}, 8) // more at once than processors: they mostly wait
	for _, c := range []struct {
		defect defect
		in     string // the behaviour that fails
	}{
		{grantsTwice, "two lockers exclude each other"},
		{losesSilently, "a lock that the server ends ends the handle's context with ErrLost"},
		{losesSilently, "Do gives ErrLost when the lock was lost under its function"},
		{losesSilently, "the loss of one key is the loss of all that were taken with it"},
		{keepsCanceled, "a cancel and a grant that meet leave nothing"},
		{keepsCanceled, "a cancel ends a wait with its cause, and leaves nothing"},
		{keepsReleased, "a panic in Do's function releases and goes on"},
		{keepsReleased, "a release with a context that has ended gets out"},
		{keepsPart, "AcquireAll with one key busy fails and leaves none"},
		{followsCtx, "a cancel of the acquire's context after the grant changes nothing"},
		{waitsOn, "a wait ends with ErrTimeout in about its time, and leaves nothing"},
		{neverWaits, "a wait is granted when the holder releases"},
		{repeatsTokens, "each holder's token is larger than those before, whichever locker it has"},
		{repeatsTokens, "each of several keys has a token that grows"},
		{claimsAlways, "RunOnce runs once in its interval, and again after it"},
		{claimsAlways, "a run that failed counts, and its error is given"},
		{claimsNever, "RunOnce runs once in its interval, and again after it"},
		{sharesAlways, "a shared lock waits for an exclusive one"},
		{leaksOne, "two lockers exclude each other"},
		{waitsTwice, "those who wait in one process are one waiter at the server"},
		{releasesLate, "a release with a context that has ended gets out"},
		{checksNothing, "a check of a lock that the server has ended is ErrLost or no answer, never nil"},
	} {
		ended := startSuite(c.defect, c.in, free)
		t.Run(string(c.defect)+" in "+c.in, func(t *testing.T) {
			t.Parallel()
			<-ended.done
			out, err := ended.out, ended.err
			if err == nil {
				t.Errorf("the suite passes:\n%s", out)
			}
			if want := "--- FAIL: TestSuite/" + strings.ReplaceAll(c.in, " ", "_"); !strings.Contains(string(out), want) {
				t.Errorf("no %q in:\n%s", want, out)
			}
		})
	}
}

// suiteRun is a run of TestSuite in another process.
type suiteRun struct {
	done chan struct{}
	out  []byte
	err  error
}

// startSuite runs one behaviour against a server with a defect, when a place is free.
func startSuite(d defect, in string, free chan struct{}) *suiteRun {
	r := &suiteRun{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		free <- struct{}{}
		defer func() { <-free }()
		cmd := exec.Command(os.Args[0], "-test.run=^TestSuite$/^"+regexp.QuoteMeta(in)+"$", "-test.v")
		cmd.Env = append(os.Environ(), defectVariable+"="+string(d))
		r.out, r.err = cmd.CombinedOutput()
	}()
	return r
}
