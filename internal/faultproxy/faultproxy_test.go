package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// soon bounds what must happen; quiet is how long nothing is watched not to happen.
	soon  = 10 * time.Second
	quiet = 100 * time.Millisecond
)

// echo is a server that answers every line with itself.
type echo struct {
	addr  string
	lines atomic.Int64 // that reached it
	ends  chan error   // how each connection ended: io.EOF or a reset
}

func newEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{addr: l.Addr().String(), ends: make(chan error, 100)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { e.answer(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return e
}

func (e *echo) answer(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			e.ends <- err
			return
		}
		e.lines.Add(1)
		if _, err := io.WriteString(conn, line); err != nil {
			e.ends <- err
			return
		}
	}
}

// end waits for the next connection that the server sees the end of.
func (e *echo) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-e.ends:
		return err
	case <-time.After(soon):
		t.Fatal("the server's connection did not end")
		return nil
	}
}

// wantEOF wants that the next connection ends in order for the server.
func (e *echo) wantEOF(t *testing.T) {
	t.Helper()
	if err := e.end(t); err != io.EOF {
		t.Errorf("the server read %v, want EOF", err)
	}
}

func (e *echo) wantReset(t *testing.T) {
	t.Helper()
	if err := e.end(t); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server read %v, want a reset", err)
	}
}

func (e *echo) wantLines(t *testing.T, want int64) {
	t.Helper()
	if n := e.lines.Load(); n != want {
		t.Errorf("%d lines reached the server, want %d", n, want)
	}
}

type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy) client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Addr(), soon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client{conn, bufio.NewReader(conn)}
}

func (c client) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (c client) receive(within time.Duration) (string, error) {
	c.SetReadDeadline(time.Now().Add(within))
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c client) ask(t *testing.T, line string) {
	t.Helper()
	c.send(t, line)
	c.want(t, line)
}

func (c client) want(t *testing.T, line string) {
	t.Helper()
	if got, err := c.receive(soon); got != line || err != nil {
		t.Fatalf("received %q, %v; want %q", got, err, line)
	}
}

func (c client) wantSilence(t *testing.T) {
	t.Helper()
	var timeout net.Error
	if got, err := c.receive(quiet); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("received %q, %v; want silence", got, err)
	}
}

func (c client) wantEOF(t *testing.T) {
	t.Helper()
	if got, err := c.receive(soon); err != io.EOF {
		t.Errorf("received %q, %v; want EOF", got, err)
	}
}

// pair is an echo server, a proxy to it, and the check that nothing is left of them.
func pair(t *testing.T) (*echo, *Proxy) {
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { wantNoGoroutine(t, running) })
	e := newEcho(t)
	return e, New(t, e.addr)
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// wantNoGoroutine wants that soon none is left but those that ran before.
func wantNoGoroutine(t *testing.T, before goleak.Option) {
	t.Helper()
	var left error
	for end := time.Now().Add(soon); ; { // goleak itself waits for half a second
		if left = goleak.Find(before); left == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(left)
		}
	}
}

func wantNoConnection(t *testing.T, p *Proxy) {
	t.Helper()
	await(t, "the proxy keeps a connection that has ended", func() bool { return p.Connections() == 0 })
}

func TestLinesPassBothWaysOnEveryConnection(t *testing.T) {
	_, p := pair(t)
	a, b := dial(t, p), dial(t, p)
	a.ask(t, "one")
	b.ask(t, "two")
	a.ask(t, "three")
	if n := p.Connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestThroughPutsTheProxyIntoASource(t *testing.T) {
	e, p := pair(t)
	got := p.Through("postgres://user@" + e.addr + "/db?sslmode=disable")
	if want := "postgres://user@" + p.Addr() + "/db?sslmode=disable"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheEndOfEitherSideReachesTheOther(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	c.Close()
	e.wantEOF(t)
	wantNoConnection(t, p)
}

func TestAResetOfTheClientReachesTheServer(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
	e.wantReset(t)
}

func TestCutIsAnEndOfFileOnBothSides(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	p.Cut()
	c.wantEOF(t)
	e.wantEOF(t)
	dial(t, p).ask(t, "later")
}

func TestResetIsAnRSTOnBothSides(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	p.Reset()
	if _, err := c.receive(soon); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client read %v, want a reset", err)
	}
	e.wantReset(t)
}

func TestDelayHoldsEachChunkInBothDirections(t *testing.T) {
	_, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	const d = 50 * time.Millisecond
	p.Delay(d)
	start := time.Now()
	c.ask(t, "slow")
	if took := time.Since(start); took < 2*d {
		t.Errorf("a round trip took %v, want %v at least", took, 2*d)
	}
	p.Delay(0)
	c.ask(t, "fast")
}

func TestABlackholePassesNothingAndClosesNothing(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	p.Blackhole(true)
	c.send(t, "held")
	late := dial(t, p)
	late.send(t, "late")
	c.wantSilence(t)
	late.wantSilence(t)
	e.wantLines(t, 1) // the one before
	p.Blackhole(false)
	c.want(t, "held")
	late.want(t, "late")
}

func TestInABlackholeNoSideHearsOfTheOthersEnd(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	p.Blackhole(true)
	c.Close()
	select {
	case err := <-e.ends:
		t.Errorf("the server read %v through a blackhole", err)
	case <-time.After(quiet):
	}
	p.Blackhole(false)
	e.wantEOF(t)
}

func TestHalfOpenEndsTheServersSideOnly(t *testing.T) {
	e, p := pair(t)
	c := dial(t, p)
	c.ask(t, "hello")
	p.HalfOpen()
	e.wantEOF(t)
	c.send(t, "into the void")
	c.wantSilence(t)
	c.send(t, "again")
	c.wantSilence(t)
	e.wantLines(t, 1) // the one before
	c.Close()
	wantNoConnection(t, p)
}

func TestADroppedReplyIsOfARequestThatReachedTheServer(t *testing.T) {
	e, p := pair(t)
	c, other := dial(t, p), dial(t, p)
	c.ask(t, "hello")
	other.ask(t, "hello")
	p.DropReplies(1)
	c.send(t, "lost")
	c.wantEOF(t)
	e.wantLines(t, 3)
	if n := p.Dropping(); n != 0 {
		t.Errorf("%d chunks are still to be dropped", n)
	}
	other.ask(t, "not touched")
}

func TestRepliesAreDroppedAfterThoseSkipped(t *testing.T) {
	e, p := pair(t)
	p.DropRepliesAfter(2, 2)
	c := dial(t, p)
	c.ask(t, "one")
	c.ask(t, "two")
	c.send(t, "lost")
	c.wantSilence(t) // the second to be dropped is not there yet
	c.send(t, "lost too")
	c.wantEOF(t)
	e.wantLines(t, 4)
	dial(t, p).ask(t, "later")
}

func TestDroppingThatIsEndedCutsWhoLostAReply(t *testing.T) {
	_, p := pair(t)
	c, other := dial(t, p), dial(t, p)
	other.ask(t, "hello")
	p.DropReplies(2)
	c.send(t, "lost")
	await(t, "no reply was dropped", func() bool { return p.Dropping() == 1 })
	p.DropReplies(0)
	c.wantEOF(t)
	other.ask(t, "not touched")
}

func TestRefusedConnectionsAreReset(t *testing.T) {
	_, p := pair(t)
	before := dial(t, p)
	before.ask(t, "hello")
	p.RefuseNew(true)
	wantReset(t, p)
	before.ask(t, "still there")
	p.RefuseNew(false)
	dial(t, p).ask(t, "let in")
}

func TestAServerThatIsGoneIsAReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := New(t, l.Addr().String())
	wantReset(t, p)
}

// wantReset makes a connection that is reset: while it is made, or just after.
func wantReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Addr(), soon)
	if err == nil {
		defer conn.Close()
		conn.SetReadDeadline(time.Now().Add(soon))
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection: %v, want a reset", err)
	}
}

func TestNothingRunsAfterCloseWhateverTheFault(t *testing.T) {
	e := newEcho(t)
	running := goleak.IgnoreCurrent()
	faults := map[string]func(*Proxy){
		"blackhole": func(p *Proxy) { p.Blackhole(true) },
		"half-open": func(p *Proxy) { p.HalfOpen() },
		"delay":     func(p *Proxy) { p.Delay(time.Hour) },
		"dropping":  func(p *Proxy) { p.DropReplies(1 << 30) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			p := New(t, e.addr)
			c := dial(t, p)
			c.ask(t, "hello")
			fault(p)
			c.send(t, "more")
			late := dial(t, p)
			late.send(t, "late")
			p.Close()
			p.Close() // a second time is nothing
			if _, err := c.receive(soon); err == nil {
				t.Error("a line came through the fault")
			}
			wantNoGoroutine(t, running)
		})
	}
}
